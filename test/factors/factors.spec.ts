import { createHash } from 'node:crypto';
import { Secret, URI } from 'otpauth';
import { FactorSecrets } from '../../src/auth/second-factors/factor-secrets';
import type { FactorsService } from '../../src/auth/second-factors/factors.service';
import { runBuilt } from '../support/process/built-program';
import { changesOf } from '../support/data/events';
import { codeAt, confirmApp, currentStep, enrolApp, forgetSteps, withinStep } from '../support/logins/factors';
import { createKey } from '../support/data/keys';
import { inTransaction, lockWaits } from '../support/locks';
import { addSession } from '../support/data/made-logins';
import { appSecret, codeOf, type TestLogin, TestService } from '../support/service';
import { changeSession } from '../support/data/session-rows';

const newSecret = 'another-secret-9876543210-zyxwvutsrqp';

describe('second factors of a user', () => {
  let service: TestService;
  let factors: ReturnType<typeof service.inside<FactorsService>>;
  beforeAll(async () => {
    service = await TestService.start();
    factors = service.inside<FactorsService>('FactorsService');
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('editor', '{system}', '{user:read,user:update}')`,
    );
  });
  afterAll(() => service.close());

  /** Inserts an unfinished login. */
  const addChallenge = (user_id: string) =>
    service.rows(
      `
        insert into login_challenges (challenge_hash, user_id, counter_address, expires_at)
        values (sha256($1::text::bytea), $1::uuid, '', now() + interval '5 minutes')`,
      [user_id],
    );
  const challengesOf = (user_id: string) =>
    service.rows('select 1 from login_challenges where user_id = $1 and expires_at > now()', [user_id]);
  const endsOf = (user_id: string) =>
    service.rows<{ session_id: string; ended_reason: string | null }>(
      'select session_id, ended_reason from sessions where user_id = $1 order by created_at, session_id',
      [user_id],
    );

  describe('an authenticator app', () => {
    const add = async ({ token }: TestLogin) =>
      (await service.post('/auth/factor/totp', { token, body: {} })).body as { factor_id: string; secret: string };
    const confirm = ({ token }: TestLogin, factor_id: string, code: unknown) =>
      service.post('/auth/factor/totp/confirm', { token, body: { factor_id, code } });
    const list = async ({ token }: TestLogin) => (await service.get('/auth/factor/list', { token })).body;
    const count = async (text: string, user_id: string) => (await service.rows(text, [user_id])).length;

    it('shows a secret of 160 bits once, as text, URI and QR code', async () => {
      const login = await service.loginAs();
      const { status, body } = await service.post('/auth/factor/totp', { token: login.token, body: { name: 'Phone' } });
      expect(status).toBe(201);
      expect(body.secret).toMatch(/^[A-Z2-7]{32}$/);
      const uri = URI.parse(body.otpauth_uri);
      expect(uri).toMatchObject({ issuer: 'carrier-identity', label: login.name, digits: 6, period: 30 });
      expect([uri.secret.base32, uri.algorithm]).toEqual([body.secret, 'SHA1']);
      expect(body.qr_svg).toMatch(/^<svg [^]*<\/svg>\s*$/);
      const [row] = await service.rows<{ secret: Buffer }>('select secret from second_factors where factor_id = $1', [
        body.factor_id,
      ]);
      expect(row?.secret.includes(Buffer.from(uri.secret.bytes))).toBe(false);
      expect(JSON.stringify(await list(login))).not.toContain(body.secret);
    });

    it('has no effect before the confirmation, which no other user can send', async () => {
      const login = await service.loginAs();
      const other = await service.login(login.name);
      const { factor_id, secret } = await add(login);
      expect((await list(login)).items).toMatchObject([{ factor_id, confirmed: false, name: 'Authenticator app' }]);
      expect((await service.get('/user', login)).body.second_factors).toEqual([]);
      expect(await factors.available(login.user_id)).toEqual([]);
      expect(await factors.acceptTotp(login.user_id, codeAt(secret, await currentStep(service)))).toBeNull();
      expect((await service.get('/user', other)).status).toBe(200);
      expect((await confirmApp(service, await service.loginAs(), { factor_id, secret })).status).toBe(404);
      expect((await service.get(`/user/${login.user_id}/factor/list`, service.admin)).body.items).toEqual([]);
    });

    it('ends all other logins with the first factor, and adds mfa to the session that enrolled it (M9)', async () => {
      const login = await service.loginAs();
      const other = await service.login(login.name);
      const stranger = await service.loginAs();
      for (const { user_id } of [login, stranger]) await addChallenge(user_id);
      await changeSession(service, login, `auth_time = now() - interval '2 minutes'`);
      const { factor_id, secret, recovery_codes } = await enrolApp(service, login);
      expect(recovery_codes).toHaveLength(10);
      expect([await challengesOf(login.user_id), await challengesOf(stranger.user_id)]).toMatchObject([[], [{}]]);
      expect((await service.get('/user', other)).status).toBe(401);
      expect((await service.get('/user', stranger)).status).toBe(200);
      expect(await endsOf(login.user_id)).toMatchObject([{ ended_reason: null }, { ended_reason: 'factors_changed' }]);
      const { session } = (await service.post('/auth/check-token', login)).body;
      expect(session.amr).toEqual(['pwd', 'otp', 'mfa']);
      expect(Date.parse(session.auth_time)).toBeGreaterThan(Date.now() - 60_000);
      expect((await service.get('/user', login)).body.second_factors).toEqual(['totp']);
      expect(await factors.available(login.user_id)).toEqual(['totp', 'recovery_code']);
      expect((await service.mailbox.take(login.email)).source).not.toContain(secret);
      const recorded = JSON.stringify(await changesOf(service, 'factor.enrolled', login.user_id));
      expect([recorded.includes(factor_id), recorded.includes(secret)]).toEqual([true, false]);
    });

    it('ends no session and returns no codes as the second factor, and a user has at most two', async () => {
      const login = await service.loginAs();
      await enrolApp(service, login);
      await addSession(service, login.user_id);
      const second = await enrolApp(service, login);
      expect(second.recovery_codes).toEqual([]);
      expect(await count('select 1 from sessions where user_id = $1 and ended_at is null', login.user_id)).toBe(2);
      const third = await service.post('/auth/factor/totp', { token: login.token, body: {} });
      expect([third.status, third.body.code]).toEqual([409, 'factor.too_many']);
      const code = codeAt(second.secret, await currentStep(service));
      expect(await factors.acceptTotp(login.user_id, code)).toBe(second.factor_id);
    });

    it('accepts the codes of one step before and after the current step, and no others (M6)', async () => {
      const login = await service.loginAs();
      const { factor_id, secret } = await enrolApp(service, login);
      const accepted = await withinStep(service, async (step) => {
        const results: Record<string, string | null> = {};
        for (const offset of [-2, -1, 1, 2]) {
          await forgetSteps(service);
          results[`step ${offset}`] = await factors.acceptTotp(login.user_id, codeAt(secret, step + offset));
        }
        return results;
      });
      expect(accepted).toEqual({ 'step -2': null, 'step -1': factor_id, 'step 1': factor_id, 'step 2': null });
    });

    it('is confirmed once, however many requests race (M1)', async () => {
      const login = await service.loginAs();
      const added = await add(login);
      const code = codeAt(added.secret, await currentStep(service));
      const answers = await Promise.all(Array.from({ length: 20 }, () => confirm(login, added.factor_id, code)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(19).fill(404)]);
      expect(await count('select 1 from recovery_codes where user_id = $1', login.user_id)).toBe(10);
    });

    it('does not accept the code of the enrolment, or of an earlier step, again (M1)', async () => {
      const login = await service.loginAs();
      const added = await add(login);
      const results = await withinStep(service, async (step) => {
        await forgetSteps(service);
        await service.rows('update second_factors set confirmed_at = null where factor_id = $1', [added.factor_id]);
        return [
          (await confirm(login, added.factor_id, codeAt(added.secret, step))).status,
          await factors.acceptTotp(login.user_id, codeAt(added.secret, step)),
          await factors.acceptTotp(login.user_id, codeAt(added.secret, step - 1)),
          await factors.acceptTotp(login.user_id, codeAt(added.secret, step + 1)),
        ];
      });
      expect(results).toEqual([200, null, null, added.factor_id]);
    });

    it('is not confirmed by a step that another app of the user used (M1)', async () => {
      const login = await service.loginAs();
      const first = await enrolApp(service, login);
      const second = await add(login);
      const results = await withinStep(service, async (step) => {
        await forgetSteps(service);
        await service.rows('update second_factors set wrong_codes = 0 where factor_id = $1', [second.factor_id]);
        return [
          await factors.acceptTotp(login.user_id, codeAt(first.secret, step)),
          (await confirm(login, second.factor_id, codeAt(second.secret, step))).status,
        ];
      });
      expect(results).toEqual([first.factor_id, 400]);
    });

    it('is removed after five wrong codes at the confirmation (M3)', async () => {
      const login = await service.loginAs();
      const { factor_id, secret } = await add(login);
      const wrong = codeAt(secret, (await currentStep(service)) + 1_000);
      for (let attempt = 1; attempt <= 5; attempt++) {
        const { status, body } = await confirm(login, factor_id, wrong);
        expect([status, body.errors]).toMatchObject([400, [{ pointer: '/code' }]]);
      }
      const late = await confirmApp(service, login, { factor_id, secret });
      expect([late.status, late.body.code]).toEqual([404, 'factor.not_found']);
      expect((await list(login)).items).toEqual([]);
    });

    it('is replaced while unconfirmed, and removed after 10 minutes', async () => {
      const login = await service.loginAs();
      const first = await add(login);
      const second = await add(login);
      expect((await confirmApp(service, login, first)).status).toBe(404);
      await service.rows(`update second_factors set created_at = now() - interval '11 minutes' where factor_id = $1`, [
        second.factor_id,
      ]);
      expect((await list(login)).items).toEqual([]);
      expect((await confirmApp(service, login, second)).status).toBe(404);
      expect((await service.delete(`/auth/factor/${second.factor_id}`, login)).status).toBe(404);
      const young = await add(await service.loginAs());
      await factors.removeExpired();
      const left = await service.rows('select factor_id from second_factors where factor_id = any($1)', [
        [second.factor_id, young.factor_id],
      ]);
      expect(left).toEqual([{ factor_id: young.factor_id }]);
    });
  });

  describe('a recovery code', () => {
    const renew = ({ token }: TestLogin) => service.post('/auth/factor/recovery-codes', { token });
    const codesLeft = async (login: TestLogin) =>
      (await service.get('/auth/factor/list', login)).body.recovery_codes_left;

    it('has 120 random bits, and is stored only as SHA-256 (M7)', async () => {
      const login = await service.loginAs();
      const { recovery_codes } = await enrolApp(service, login);
      expect(new Set(recovery_codes).size).toBe(10);
      for (const code of recovery_codes) expect(code).toMatch(/^([A-Z2-7]{4}-){5}[A-Z2-7]{4}$/);
      const hashes = `select encode(code_hash, 'hex') as hash from recovery_codes where user_id = $1`;
      const stored = await service.rows(hashes, [login.user_id]);
      const expected = recovery_codes.map((code) =>
        createHash('sha256').update(code.replaceAll('-', '')).digest('hex'),
      );
      expect(stored.map(({ hash }) => hash).sort()).toEqual(expected.sort());
    });

    it('is used once in any spelling, however many requests race, and only by its user (M7)', async () => {
      const [owner, thief] = [await service.loginAs(), await service.loginAs()];
      const [code = ''] = (await enrolApp(service, owner)).recovery_codes;
      await enrolApp(service, thief);
      expect(await factors.useRecoveryCode(thief.user_id, code)).toBeNull();
      const spelling = ` ${code.replaceAll('-', ' ').toLowerCase()}\n`;
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          factors.useRecoveryCode(owner.user_id, index % 2 === 0 ? code : spelling),
        ),
      );
      expect(results.filter((left) => left !== null)).toEqual([9]);
      expect(await factors.useRecoveryCode(owner.user_id, code)).toBeNull();
    });

    it('becomes invalid when new ones are created, and is not offered once all are used (M7)', async () => {
      const login = await service.loginAs();
      const { recovery_codes } = await enrolApp(service, login);
      const { status, body } = await renew(login);
      expect([status, body.recovery_codes.length]).toEqual([200, 10]);
      for (const code of recovery_codes) expect(await factors.useRecoveryCode(login.user_id, code)).toBeNull();
      expect(await factors.useRecoveryCode(login.user_id, body.recovery_codes[0])).toBe(9);
      expect(await changesOf(service, 'factor.recovery_codes_renewed', login.user_id)).toEqual([{}]);
      const { source } = await service.mailbox.take(login.email, /^Subject: New recovery codes/m);
      for (const code of body.recovery_codes as string[]) {
        expect(source).not.toContain(code);
        await factors.useRecoveryCode(login.user_id, code);
      }
      expect(await factors.available(login.user_id)).toEqual(['totp']);
    });

    it('needs a confirmed factor, and disappears with the last one (M7)', async () => {
      const login = await service.loginAs();
      expect((await renew(login)).body.code).toBe('factor.not_found');
      const first = await enrolApp(service, login);
      const second = await enrolApp(service, login);
      expect((await service.delete(`/auth/factor/${first.factor_id}`, login)).status).toBe(204);
      expect([await codesLeft(login), await factors.available(login.user_id)]).toEqual([10, ['totp', 'recovery_code']]);
      expect((await service.delete(`/auth/factor/${second.factor_id}`, login)).status).toBe(204);
      expect([await codesLeft(login), await factors.available(login.user_id)]).toEqual([0, []]);
      expect(await factors.useRecoveryCode(login.user_id, first.recovery_codes[0] ?? '')).toBeNull();
      expect((await renew(login)).status).toBe(404);
    });
  });

  describe('a change of one user', () => {
    const factorsOf = async (login: TestLogin) =>
      (await service.get('/auth/factor/list', login)).body.items as object[];
    const remove = ({ token }: TestLogin, factor_id: string) => service.delete(`/auth/factor/${factor_id}`, { token });
    const reset = (login: TestLogin, user_id: string) => service.delete(`/user/${user_id}/factor/all`, login);
    const require = (user_id: string) =>
      service.rows(`update users set second_factor_required_from = now() - interval '1 minute' where user_id = $1`, [
        user_id,
      ]);
    it('ends the other sessions and unfinished logins, and notifies the user of a removal (M5, M9, S12)', async () => {
      const login = await service.loginAs();
      const { factor_id } = await enrolApp(service, login);
      await addSession(service, login.user_id);
      await addChallenge(login.user_id);
      expect((await remove(login, factor_id)).status).toBe(204);
      expect(await challengesOf(login.user_id)).toEqual([]);
      expect(await endsOf(login.user_id)).toMatchObject([
        { session_id: login.session_id, ended_reason: null },
        { ended_reason: 'factors_changed' },
      ]);
      expect((await service.get('/user', login)).body.second_factors).toEqual([]);
      await service.mailbox.take(login.email, /Subject: A second factor was removed/);
    });

    it('ends the unfinished logins of the user with every further factor, too (M4)', async () => {
      const login = await service.loginAs();
      await enrolApp(service, login);
      await addChallenge(login.user_id);
      await enrolApp(service, login);
      expect(await challengesOf(login.user_id)).toEqual([]);
    });

    it('shows each kind of factor once, and keeps the last factor of a user who must have one', async () => {
      const login = await service.loginAs();
      const first = await enrolApp(service, login);
      const second = await enrolApp(service, login);
      const read = await service.get(`/user/${login.user_id}`, service.admin);
      const listed = await service.get(`/user/list?user_id=${login.user_id}`, service.admin);
      for (const user of [read.body, listed.body.items[0], (await service.get('/user', login)).body])
        expect(user.second_factors).toEqual(['totp']);
      await require(login.user_id);
      expect((await remove(login, first.factor_id)).status).toBe(204);
      expect(codeOf(await remove(login, second.factor_id))).toBe('409 factor.required');
      expect(await factorsOf(login)).toMatchObject([{ factor_id: second.factor_id }]);
      expect(await service.rows('select 1 from recovery_codes where user_id = $1', [login.user_id])).toHaveLength(10);
    });

    it('keeps the last factor of a user whose role requires one', async () => {
      const from = (time: string) =>
        service.rows(
          `insert into roles (name, user_types, permissions, second_factor_required_from)
           values ('strict', '{carrier}', '{}', ${time})
           on conflict (name) do update set second_factor_required_from = excluded.second_factor_required_from`,
        );
      await from(`now() + interval '1 day'`);
      const login = await service.loginAs({ roles: ['strict'] });
      const { factor_id } = await enrolApp(service, login);
      await from('now()');
      expect(codeOf(await remove(login, factor_id))).toBe('409 factor.required');
      await from(`now() + interval '1 day'`);
      expect((await remove(login, factor_id)).status).toBe(204);
    });

    it('removes exactly one of the last two factors in two concurrent requests', async () => {
      const login = await service.loginAs();
      const apps = [await enrolApp(service, login), await enrolApp(service, login)];
      await require(login.user_id);
      const answers = await inTransaction(service, async (other) => {
        await other.query('select 1 from users where user_id = $1 for update', [login.user_id]);
        const removals = Promise.all(apps.map(({ factor_id }) => remove(login, factor_id)));
        await lockWaits(service, 2);
        await other.query('commit');
        return removals;
      });
      expect(answers.map(({ status }) => status).sort()).toEqual([204, 409]);
      expect(await factorsOf(login)).toHaveLength(1);
    });

    it('is rejected in a session that ended while the request waited (S12)', async () => {
      const { token, user_id, session_id } = await service.loginAs();
      const answer = await inTransaction(service, async (other) => {
        await other.query('select 1 from users where user_id = $1 for update', [user_id]);
        const adding = service.post('/auth/factor/totp', { token, body: {} });
        await lockWaits(service);
        await other.query(`update sessions set ended_at = now(), ended_reason = 'revoked' where session_id = $1`, [
          session_id,
        ]);
        await other.query('commit');
        return adding;
      });
      expect(codeOf(answer)).toBe('401 auth.token_invalid');
      expect(await service.rows('select 1 from second_factors where user_id = $1', [user_id])).toEqual([]);
    });

    it('records a new name, but no unchanged one', async () => {
      const login = await service.loginAs();
      const { factor_id } = await enrolApp(service, login);
      for (const name of ['Tablet', 'Tablet'])
        await service.patch(`/auth/factor/${factor_id}`, { token: login.token, body: { name } });
      expect(await changesOf(service, 'factor.renamed', login.user_id)).toMatchObject([
        { name: { before: 'Authenticator app', after: 'Tablet' } },
      ]);
    });

    it('resets all factors of another user, and ends the sessions of the user', async () => {
      const login = await service.loginAs();
      await enrolApp(service, login);
      await enrolApp(service, login);
      await addChallenge(login.user_id);
      expect((await reset(service.admin, login.user_id)).status).toBe(204);
      expect(await endsOf(login.user_id)).toMatchObject([{ ended_reason: 'factors_changed' }]);
      expect(await challengesOf(login.user_id)).toEqual([]);
      const listed = (await service.get(`/user/${login.user_id}/factor/list`, service.admin)).body;
      expect(listed).toEqual({ items: [], recovery_codes_left: 0 });
      // A user without factors: nothing ends, and nothing is recorded.
      const again = await service.login(login.name);
      expect((await reset(service.admin, login.user_id)).status).toBe(204);
      expect((await service.get('/user', again)).status).toBe(200);
      const changes = { kinds: { before: ['totp', 'totp'], after: [] } };
      expect(await changesOf(service, 'factor.reset', login.user_id)).toEqual([changes]);
    });

    it('keeps the factors of deleted users for a restore, and erases them with a purge', async () => {
      const login = await service.loginAs();
      const { factor_id } = await enrolApp(service, login);
      const name = 'Private phone of Ada';
      await service.patch(`/auth/factor/${factor_id}`, { token: login.token, body: { name } });
      const path = `/user/${login.user_id}`;
      expect((await service.delete(path, service.admin)).status).toBe(204);
      expect((await service.get(`${path}/factor/list`, service.admin)).status).toBe(404);
      expect((await service.post(`${path}/restore`, service.admin)).body.second_factors).toEqual(['totp']);
      expect((await service.get(`${path}/factor/list`, service.admin)).body).toMatchObject({
        items: [{ factor_id, name, confirmed: true }],
        recovery_codes_left: 10,
      });
      expect((await service.delete(`${path}?purge=true`, service.admin)).status).toBe(204);
      for (const table of ['second_factors', 'recovery_codes', 'totp_steps'])
        expect(await service.rows(`select 1 from ${table} where user_id = $1`, [login.user_id])).toEqual([]);
      expect(JSON.stringify(await changesOf(service, 'factor.renamed', login.user_id))).not.toContain('phone');
    });
  });

  describe('a reset in bulk', () => {
    type User = TestLogin & { name: string; email: string };
    async function enrolled(fields: Record<string, unknown> = {}): Promise<User> {
      const user = await service.loginAs(fields);
      await enrolApp(service, user);
      return user;
    }
    const send = (users: { user_id: string }[], body: object, { token }: { token: string } = service.admin, end = '') =>
      service.patch(`/user/all?user_id_in=${users.map(({ user_id }) => user_id).join()}${end}`, { token, body });
    const body = { reset_second_factors: true };
    const has = async (user_id: string) =>
      (await service.get(`/user/list?user_id=${user_id}&has_second_factor=true`, service.admin)).body.items.length ===
      1;

    it('removes factors, recovery codes and sessions, records each reset and mails each user', async () => {
      const [one, two, none] = [await enrolled(), await enrolled(), await service.loginAs()];
      const users = [one, two, none];
      const preview = await send(users, body, service.admin, '&dry_run=true');
      expect(preview.body).toMatchObject({ matched: 3, would_change: 2, unchanged: 1 });
      expect(await has(one.user_id)).toBe(true);
      const done = await send(users, body);
      expect(done.body).toMatchObject({ matched: 3, changed: 2, unchanged: 1, undo_until: null });
      expect([await has(one.user_id), await has(two.user_id)]).toEqual([false, false]);
      const ids = users.map(({ user_id }) => user_id);
      expect(await service.rows('select 1 from recovery_codes where user_id = any($1)', [ids])).toEqual([]);
      for (const { token } of [one, two]) expect((await service.get('/user', { token })).status).toBe(401);
      expect((await service.get('/user', none)).status).toBe(200);
      const events = await service.rows(
        `select target_id from events where operation_id = $1 and event_type = 'factor.reset' and changes = $2`,
        [done.body.operation_id, { kinds: { before: ['totp'], after: [] } }],
      );
      expect(events.map(({ target_id }) => target_id).sort()).toEqual([one.user_id, two.user_id].sort());
      for (const { email } of [one, two]) await service.mailbox.take(email, /were reset/);
      expect(codeOf(await service.post(`/user/operation/${done.body.operation_id}/undo`, service.admin))).toBe(
        '409 operation.not_undoable',
      );
      expect((await service.get(`/user/${one.user_id}`, service.admin)).body.version).toBe(1);
    });

    it('undoes the fields that change together with a reset, and no reset', async () => {
      const [one, none] = [await enrolled(), await service.createUser()];
      const done = await send([one, none], { ...body, locale: 'de' });
      expect(done.body).toMatchObject({ changed: 2 });
      const undone = await service.post(`/user/operation/${done.body.operation_id}/undo`, service.admin);
      expect(undone.body).toMatchObject({ changed: 2, skipped_count: 0 });
      const { locale, second_factors } = (await service.get(`/user/${one.user_id}`, service.admin)).body;
      expect([locale, second_factors]).toEqual([null, []]);
    });

    it('skips protected users and the caller, and finds no user outside the scope (M11)', async () => {
      const administrator = await enrolled({ user_type: 'system', roles: ['administrator'] });
      const operator = await enrolled({ user_type: 'system', roles: ['operator'] });
      const { body: done } = await send([administrator, operator], body, operator);
      expect(done).toMatchObject({ matched: 2, changed: 0 });
      expect(done.skipped).toHaveLength(2);
      expect(done.skipped).toEqual(
        expect.arrayContaining([
          { user_id: administrator.user_id, reason: 'access.protected_user' },
          { user_id: operator.user_id, reason: 'user.self_protected' },
        ]),
      );
      const manager = await service.loginAs({ roles: ['carrier_administrator'] });
      expect((await send([administrator], body, manager)).body.matched).toBe(0);
      expect([await has(administrator.user_id), await has(operator.user_id)]).toEqual([true, true]);
    });

    it('rejects API keys, callers without user:reset_factors and old logins (M11)', async () => {
      const user = await enrolled();
      const editor = await service.loginAs({ user_type: 'system', roles: ['editor'] });
      const key = { token: (await createKey(service, ['*'])).key };
      for (const caller of [editor, key]) {
        expect(codeOf(await send([user], body, caller))).toBe('403 access.denied');
        expect(codeOf(await send([user], body, caller, '&dry_run=true'))).toBe('403 access.denied');
      }
      const old = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      await changeSession(service, old, `auth_time = now() - interval '10 minutes'`);
      expect(codeOf(await send([user], body, old))).toBe('401 auth.reauthentication_required');
      expect(await has(user.user_id)).toBe(true);
    });
  });

  describe('secrets', () => {
    const cli = (env: Record<string, string>, ...args: string[]) =>
      runBuilt('src/cli/cli.js', { DATABASE_URL: service.config.DATABASE_URL, ...env }, args);

    it('of an administrator are removed by admin-recover --reset-factors only', async () => {
      const login = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
      await enrolApp(service, login);
      const kinds = async () => (await service.get(`/user/${login.user_id}`, service.admin)).body.second_factors;
      const env = { APP_SECRET: appSecret };
      expect((await cli(env, 'admin-recover', login.name)).code).toBe(0);
      expect(await kinds()).toEqual(['totp']);
      const { code, stdout } = await cli(env, 'admin-recover', '--reset-factors', login.name);
      expect([code, stdout]).toEqual([0, expect.stringContaining('/auth/reset/')]);
      expect(await kinds()).toEqual([]);
      const events = await service.rows(
        `select actor_type from events where event_type = 'factor.reset' and target_id = $1`,
        [login.user_id],
      );
      expect(events).toEqual([{ actor_type: 'system' }]);
    });

    // The last test: the command also encrypts the signing key with the new secret.
    it('are encrypted again by two commands at once during a removal, which count undecryptable ones', async () => {
      await service.rows('delete from second_factors');
      const login = await service.loginAs();
      const [removed, kept] = [await enrolApp(service, login), await enrolApp(service, login)];
      // More than two batches that no known secret decrypts, before and between the factors.
      await service.rows(
        `
          insert into second_factors (factor_id, user_id, kind, name, secret, confirmed_at)
          select
            case when n % 2 = 0 then gen_random_uuid() else lpad(n::text, 32, '0')::uuid end,
            $1, 'totp', 'foreign', decode('00000000', 'hex'), now()
          from generate_series(1, 1201) n`,
        [service.admin.user_id],
      );
      const rotation = { APP_SECRET: newSecret, APP_SECRET_PREVIOUS: appSecret };
      const both = await inTransaction(service, async (other) => {
        await other.query('delete from second_factors where factor_id = $1', [removed.factor_id]);
        const commands = Promise.all([cli(rotation, 'app-secret'), cli(rotation, 'app-secret')]);
        await lockWaits(service);
        await other.query('commit');
        return commands;
      });
      for (const { code, stdout } of both)
        expect([code, stdout]).toEqual([0, expect.stringContaining('decrypts: 1201.')]);
      await service.rows(`delete from second_factors where name = 'foreign'`);
      expect((await cli(rotation, 'app-secret')).stdout).toMatch(/Remove APP_SECRET_PREVIOUS 86400 s after/);
      const secrets = new FactorSecrets({ APP_SECRET: newSecret, APP_SECRET_PREVIOUS: undefined });
      const { user_id } = login;
      const [row, ...more] = await service.rows<{ secret: Buffer }>('select secret from second_factors');
      expect(more).toEqual([]);
      const opened = secrets.decrypt({ user_id, factor_id: kept.factor_id }, row?.secret ?? Buffer.of());
      expect(opened).toEqual(Buffer.from(Secret.fromBase32(kept.secret).bytes));
    });
  });
});
