import { changesOf } from '../support/data/events';
import { enrolApp } from '../support/logins/factors';
import { createKey } from '../support/data/keys';
import { mailedResetToken } from '../support/data/links';
import { inTransaction, lockWaits } from '../support/locks';
import { partsOf } from '../support/network/mail-parts';
import { codeOf, password, type TestLogin, TestService } from '../support/service';

const chosen = 'the owner chose this one';

describe('securing an account', () => {
  let service: TestService;
  let operator: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`
      insert into roles (name, user_types, permissions, may_grant)
      values
        ('editor', '{system}', '{user:read,user:update}', '{}'),
        ('integrator', '{carrier}', '{key:manage,user:read}', '{}'),
        ('deputy', '{system}', '{user:read,user:update}', '{administrator}')`);
    operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
  });
  afterAll(() => service.close());

  const secure = (user_id: string, body: object = {}, { token }: { token: string } = operator) =>
    service.post(`/user/${user_id}/secure`, { token, body });
  const login = (name: string, secret = password) =>
    service.post('/auth/login', { body: { login: name, password: secret } });
  const set = async (token: string | null) => service.post(`/auth/reset/${token}`, { body: { password: chosen } });
  const statusOf = (user_id: string, status: string) =>
    service.patch(`/user/${user_id}`, { ...service.admin, body: { status } });

  it('keeps a thief who knows the password out, and lets the owner in with the mailed link (R40)', async () => {
    const user = await service.loginAs();
    await service.patch(`/user/${user.user_id}`, { token: operator.token, body: { must_change_password: true } });
    const stolen = await mailedResetToken(service, user.email);
    const secured = await secure(user.user_id);
    expect(secured.status).toBe(200);
    expect(secured.body).toMatchObject({ user_id: user.user_id, status: 'active' });
    expect(secured.headers['etag']).toBe(`"${secured.body.version}"`);
    expect(codeOf(await login(user.name))).toBe('401 auth.invalid_credentials');
    expect((await service.get('/user', user)).status).toBe(401);
    expect(codeOf(await set(stolen))).toBe('404 reset.token_invalid');
    const ended = await service.rows('select ended_reason from sessions where user_id = $1', [user.user_id]);
    expect(ended).toEqual([{ ended_reason: 'secured' }]);
    const mail = await service.mailbox.take(user.email, /secured/);
    expect((await set(mail.token)).status).toBe(204);
    expect((await login(user.name, chosen)).status).toBe(200);
    expect(await changesOf(service, 'user.secured', user.user_id)).toEqual([
      { password_changed_at: expect.anything() as unknown },
    ]);
    expect(await changesOf(service, 'user.changed', user.user_id)).toHaveLength(1);
  });

  it('voids an unfinished login, a proposed address and the link that undoes a change (R40)', async () => {
    const user = await service.loginAs();
    await enrolApp(service, user);
    const proposal = { email: `new-${user.email}`, current_password: password };
    expect((await service.post('/auth/email', { token: user.token, body: proposal })).status).toBe(202);
    const confirmation = await service.mailbox.take(proposal.email);
    const notMe = await service.mailbox.take(user.email, /proposed/);
    const { challenge } = (await login(user.name)).body;
    const secured = await secure(user.user_id, { factors: 'keep' });
    expect(secured.body).toMatchObject({ email_pending: null, second_factors: ['totp'] });
    expect(codeOf(await service.post(`/auth/email/${confirmation.token}`))).toBe('404 email.token_invalid');
    expect(codeOf(await set(notMe.token))).toBe('404 reset.token_invalid');
    const second = await service.post('/auth/second-factor', { body: { challenge, code: '000000' } });
    expect(codeOf(second)).toBe('401 auth.challenge_invalid');
  });

  it('mails a new link on a reset request, while the voided password is rejected', async () => {
    const user = await service.createUser();
    await secure(user.user_id);
    const first = await service.mailbox.take(user.email, /secured/);
    const newer = await mailedResetToken(service, user.email);
    expect(codeOf(await set(first.token))).toBe('404 reset.token_invalid');
    expect(codeOf(await login(user.name))).toBe('401 auth.invalid_credentials');
    expect((await set(newer)).status).toBe(204);
  });

  it('requires a decision about factors and API keys, and names the field', async () => {
    const user = await service.loginAs({ roles: ['integrator'] });
    await enrolApp(service, user);
    await createKey(service, ['user:read'], {}, user);
    const pointers = async (body: object) =>
      (await secure(user.user_id, body, service.admin)).body.errors?.map(({ pointer }: { pointer: string }) => pointer);
    expect(await pointers({})).toEqual(['/factors']);
    expect(await pointers({ factors: 'keep' })).toEqual(['/keys']);
    expect(await pointers({ factors: 'drop', keys: 'keep' })).toEqual(['/factors']);
    expect(await pointers({ factors: ['0192f0c6-1d2e-7f3a-8b4c-5d6e7f8a9b0c'], keys: 'keep' })).toEqual(['/factors']);
    expect(await pointers({ factors: 'keep', keys: 'revoke' })).toEqual(['/keys']);
    expect((await login(user.name)).body.code).toBe('auth.second_factor_required');
  });

  it('removes the named factors with the recovery codes, which a thief may have renewed (R40, M11)', async () => {
    const user = await service.loginAs();
    const [own, strange] = [await enrolApp(service, user), await enrolApp(service, user)];
    const some = await secure(user.user_id, { factors: [strange.factor_id] });
    expect(some.status).toBe(200);
    const list = await service.get(`/user/${user.user_id}/factor/list`, operator);
    expect(list.body).toMatchObject({ items: [{ factor_id: own.factor_id }], recovery_codes_left: 0 });
    const all = await secure(user.user_id, { factors: 'remove_all' });
    expect(all.body.second_factors).toEqual([]);
    expect(await service.rows('select 1 from recovery_codes where user_id = $1', [user.user_id])).toEqual([]);
    const factors = { before: [{ kind: 'totp', name: 'Authenticator app' }] };
    expect(await changesOf(service, 'user.secured', user.user_id)).toMatchObject([{ factors }, { factors }]);
    await service.mailbox.take(user.email, /were reset/);
  });

  it('suspends API keys until each is resumed, and names them without links (R40, I17)', async () => {
    const user = await service.loginAs({ roles: ['integrator'] });
    const { key, key_id } = await createKey(service, ['user:read'], { name: 'evil.test/a' }, user);
    const [machine, manager] = [{ token: key }, await createKey(service, ['*'])];
    const reads = async () => (await service.get('/user/list?count=none', machine)).status;
    expect(await reads()).toBe(200);
    expect((await secure(user.user_id, { keys: 'suspend' }, service.admin)).status).toBe(200);
    expect(await reads()).toBe(401);
    const shown = (await service.get(`/auth/key/list?key_id=${key_id}`, service.admin)).body.items[0];
    expect(shown).toMatchObject({ active: false, revoked_at: null, suspended_at: expect.any(String) as unknown });
    const { text } = partsOf((await service.mailbox.take(user.email, /secured/)).source);
    expect(text).toContain(`evil·test·a (${key_id})`);
    const keys = { after: [{ key_id, name: 'evil.test/a' }] };
    expect(await changesOf(service, 'user.secured', user.user_id)).toMatchObject([{ keys }]);
    const resume = (token: string) => service.post(`/auth/key/${key_id}/resume`, { token });
    expect(codeOf(await resume(manager.key))).toBe('403 access.denied');
    expect((await resume(service.admin.token)).status).toBe(204);
    expect(await reads()).toBe(200);
  });

  it('keeps API keys if told to, and suspends none with more permissions than the caller (Z10)', async () => {
    const user = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const machine = { token: (await createKey(service, ['role:manage', 'user:read'], {}, user)).key };
    await service.patch(`/user/${user.user_id}`, { ...service.admin, body: { roles: [] } });
    expect(codeOf(await secure(user.user_id, { keys: 'suspend' }))).toBe('403 access.grant_exceeds_own');
    expect((await secure(user.user_id, { keys: 'keep' })).status).toBe(200);
    expect((await service.get('/user/list?count=none', machine)).status).toBe(200);
  });

  it('removes no factors for an API key, or for a caller without the permission', async () => {
    const user = await service.loginAs();
    const app = await enrolApp(service, user);
    const editor = await service.loginAs({ user_type: 'system', roles: ['editor'] });
    const key = { token: (await createKey(service, ['*'])).key };
    for (const caller of [editor, key])
      for (const factors of ['remove_all', [app.factor_id]])
        expect(codeOf(await secure(user.user_id, { factors }, caller))).toBe('403 access.denied');
    expect((await service.get('/user', user)).status).toBe(200);
    expect((await secure(user.user_id, { factors: 'keep' }, key)).status).toBe(200);
  });

  it('never voids the password of the last administrator', async () => {
    const deputy = await service.loginAs({ user_type: 'system', roles: ['deputy'] });
    const other = await service.createUser({ user_type: 'system', roles: ['administrator'] });
    await service.rows(`update users set status = 'disabled' where roles = '{administrator}' and user_id <> all($1)`, [
      [service.admin.user_id, other.user_id],
    ]);
    const keys = { factors: 'keep', keys: 'keep' };
    expect((await secure(other.user_id, keys, deputy)).status).toBe(200);
    expect(codeOf(await secure(service.admin.user_id, keys, deputy))).toBe('409 user.last_administrator');
    expect((await service.get('/user', service.admin)).status).toBe(200);
    const found = `user_id_in=${service.admin.user_id}`;
    const bulk = await service.patch(`/user/all?${found}`, { token: deputy.token, body: { secure: true } });
    expect(bulk.body.skipped).toEqual([{ user_id: service.admin.user_id, reason: 'user.last_administrator' }]);
  });

  it('counts a voided password for the rules of status, and mails a disabled user when enabled', async () => {
    const user = await service.createUser();
    await statusOf(user.user_id, 'disabled');
    expect((await secure(user.user_id)).body.status).toBe('disabled');
    expect((await statusOf(user.user_id, 'invited')).status).toBe(400);
    expect(service.mailbox.mails.filter(({ to }) => to.includes(user.email))).toEqual([]);
    expect((await statusOf(user.user_id, 'active')).body.status).toBe('active');
    expect(codeOf(await login(user.name))).toBe('401 auth.invalid_credentials');
    const { token } = await service.mailbox.take(user.email, /secured/);
    expect((await set(token)).status).toBe(204);
  });

  it('mails a new invitation to an invited user, and voids the older one', async () => {
    const user = await service.inviteUser();
    const older = await service.mailbox.take(user.email, /invitation/);
    expect((await secure(user.user_id)).body.status).toBe('invited');
    const newer = await service.mailbox.take(user.email, /invitation/);
    expect(codeOf(await set(older.token))).toBe('404 reset.token_invalid');
    expect((await set(newer.token)).status).toBe(204);
    expect((await login(user.name, chosen)).status).toBe(200);
  });

  it('wins over a login that verified the password before (R40, S12)', async () => {
    for (const isLoginFirst of [true, false]) {
      const user = await service.createUser();
      const work = [() => login(user.name), () => secure(user.user_id)];
      await inTransaction(service, async (other) => {
        await other.query('select 1 from users where user_id = $1 for update', [user.user_id]);
        const sent = [];
        for (const send of isLoginFirst ? work : work.reverse()) {
          sent.push(send());
          await lockWaits(service, sent.length);
        }
        await other.query('commit');
        await Promise.all(sent);
      });
      const live = await service.rows('select 1 from sessions where user_id = $1 and ended_at is null', [user.user_id]);
      expect(live).toEqual([]);
    }
  });

  it('wins over API keys that the thief creates and resumes at the same time (R40)', async () => {
    for (let round = 0; round < 2; round++) {
      const user = await service.loginAs({ roles: ['integrator'] });
      const { key_id } = await createKey(service, ['user:read'], {}, user);
      const creations = Array.from({ length: 9 }, () => createKey(service, [], {}, user).catch(() => null));
      const resumptions = Array.from({ length: 9 }, () => service.post(`/auth/key/${key_id}/resume`, user));
      const secured = await secure(user.user_id, { keys: 'suspend' }, service.admin);
      await Promise.all([...creations, ...resumptions]);
      expect(secured.status).toBe(200);
      const active = 'select 1 from keys where created_by = $1 and suspended_at is null';
      expect(await service.rows(active, [user.user_id])).toEqual([]);
    }
  });

  it('secures the matching users in bulk, keeps and reports factors and keys, and has no undo (R40)', async () => {
    const [plain, strong] = [await service.loginAs(), await service.loginAs()];
    const maker = await service.loginAs({ roles: ['integrator'] });
    await enrolApp(service, strong);
    await createKey(service, ['user:read'], {}, maker);
    const path = `/user/all?user_id_in=${[plain, strong, maker].map(({ user_id }) => user_id).join()}`;
    const send = (end: string, body: object = { secure: true }) =>
      service.patch(`${path}${end}`, { ...service.admin, body });
    const preview = await send('&dry_run=true');
    expect(preview.body).toMatchObject({ matched: 3, would_change: 3, with_factors: 1, with_keys: 1 });
    expect((await service.get('/user', plain)).status).toBe(200);
    const done = await send(`&confirm_token=${encodeURIComponent(preview.body.confirm_token)}`);
    expect(done.body).toMatchObject({ changed: 3, with_factors: 1, with_keys: 1, undo_until: null });
    for (const { name, email } of [plain, maker]) {
      expect(codeOf(await login(name))).toBe('401 auth.invalid_credentials');
      expect((await set((await service.mailbox.take(email, /secured/)).token)).status).toBe(204);
      expect((await login(name, chosen)).status).toBe(200);
    }
    const operation = `/user/operation/${done.body.operation_id}`;
    expect((await service.get(operation, service.admin)).body).toMatchObject({ with_keys: 1 });
    expect(codeOf(await service.post(`${operation}/undo`, service.admin))).toBe('409 operation.not_undoable');
    for (const { user_id } of [plain, strong, maker])
      expect(await changesOf(service, 'user.secured', user_id)).toHaveLength(1);
    expect(codeOf(await send('', { secure: true, locale: 'de' }))).toBe('400 request.invalid');
  });

  it('removes one factor of another user, and resets the factors with the last one (M11)', async () => {
    const user = await service.loginAs();
    const [own, strange] = [await enrolApp(service, user), await enrolApp(service, user)];
    const remove = (factor_id: string) => service.delete(`/user/${user.user_id}/factor/${factor_id}`, operator);
    expect((await remove(strange.factor_id)).status).toBe(204);
    // A thief with a session may have renewed the recovery codes.
    expect(await service.rows('select 1 from recovery_codes where user_id = $1', [user.user_id])).toEqual([]);
    expect(codeOf(await remove(strange.factor_id))).toBe('404 factor.not_found');
    expect((await service.get('/user', user)).status).toBe(401);
    await service.mailbox.take(user.email, /second factor was removed/);
    expect((await remove(own.factor_id)).status).toBe(204);
    const list = await service.get(`/user/${user.user_id}/factor/list`, operator);
    expect(list.body).toEqual({ items: [], recovery_codes_left: 0 });
    await service.mailbox.take(user.email, /were reset/);
  });
});
