import { FactorEnrollmentService } from '../../../src/logins/factors/factor-enrollment.service';
import { systemActor } from '../../../src/access/actor';
import { createKey } from '../../support/keys';
import { addSession } from '../../support/made-logins';
import { enrolApp } from '../../support/factors';
import { type TestLogin, TestService } from '../../support/service';

describe('a change of second factors', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const factorsOf = async (login: TestLogin) => (await service.get('/auth/factor/list', login)).body.items as object[];
  const remove = ({ token }: TestLogin, factor_id: string) => service.delete(`/auth/factor/${factor_id}`, { token });
  const reset = (login: TestLogin, user_id: string) => service.delete(`/user/${user_id}/factor/all`, login);
  const require = (user_id: string) =>
    service.rows(`update users set second_factor_required_from = now() - interval '1 minute' where user_id = $1`, [
      user_id,
    ]);
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

  it('ends the other sessions and unfinished logins of the user on a removal (M9, S12)', async () => {
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
    await service.mailbox.take(login.email, /removed/i);
  });

  it('ends the unfinished logins of the user with every further factor, too (M4)', async () => {
    const login = await service.loginAs();
    await enrolApp(service, login);
    await addChallenge(login.user_id);
    await enrolApp(service, login);
    expect(await challengesOf(login.user_id)).toEqual([]);
  });

  it('keeps the last factor of a user who must have one', async () => {
    const login = await service.loginAs();
    const first = await enrolApp(service, login);
    const second = await enrolApp(service, login);
    await require(login.user_id);
    await addSession(service, login.user_id);
    expect((await remove(login, first.factor_id)).status).toBe(204);
    const last = await remove(login, second.factor_id);
    expect([last.status, last.body.code]).toEqual([409, 'factor.required']);
    expect(await factorsOf(login)).toMatchObject([{ factor_id: second.factor_id }]);
    const [codes] = await service.rows('select count(*)::integer from recovery_codes where user_id = $1', [
      login.user_id,
    ]);
    expect(codes).toEqual({ count: 10 });
  });

  it('keeps the last factor of a user whose role requires one', async () => {
    await service.post('/role/create', {
      token: service.admin.token,
      body: { name: 'strict', user_types: ['carrier'], permissions: [] },
    });
    const login = await service.loginAs({ roles: ['strict'] });
    const { factor_id } = await enrolApp(service, login);
    await service.rows(`update roles set second_factor_required_from = now() where name = 'strict'`);
    expect((await remove(login, factor_id)).body.code).toBe('factor.required');
    await service.rows(`update roles set second_factor_required_from = now() + interval '1 day' where name = 'strict'`);
    expect((await remove(login, factor_id)).status).toBe(204);
  });

  it('removes exactly one of the last two factors in two concurrent requests', async () => {
    for (let round = 1; round <= 10; round++) {
      const login = await service.loginAs();
      const apps = [await enrolApp(service, login), await enrolApp(service, login)];
      await require(login.user_id);
      const answers = await Promise.all(apps.map(({ factor_id }) => remove(login, factor_id)));
      expect(answers.map(({ status }) => status).sort()).toEqual([204, 409]);
      expect(await factorsOf(login)).toHaveLength(1);
    }
  });

  it('is rejected in a session that ended while the request waited (S12)', async () => {
    const login = await service.loginAs();
    await service.rows(`update sessions set ended_at = now(), ended_reason = 'revoked' where session_id = $1`, [
      login.session_id,
    ]);
    const { user_id, session_id } = login;
    const enrollment = service.app.get(FactorEnrollmentService);
    const adding = enrollment.addTotp({ ...systemActor, actor_type: 'user', user_id, session_id }, {});
    await expect(adding).rejects.toMatchObject({ code: 'auth.token_invalid' });
  });

  it('needs a fresh authentication, except a new name (M5)', async () => {
    const login = await service.loginAs();
    const { factor_id } = await enrolApp(service, login);
    await service.rows(`update sessions set auth_time = now() - interval '10 minutes' where user_id = any($1)`, [
      [login.user_id, service.admin.user_id],
    ]);
    const { token } = login;
    const answers = [
      await service.post('/auth/factor/totp', { token, body: {} }),
      await service.post('/auth/factor/totp/confirm', { token, body: { factor_id, code: '123456' } }),
      await service.post('/auth/factor/recovery-codes', { token }),
      await remove(login, factor_id),
      await reset(service.admin, login.user_id),
    ];
    expect(answers.map(({ body }) => body.code)).toEqual(Array(5).fill('auth.reauthentication_required'));
    const renamed = await service.patch(`/auth/factor/${factor_id}`, { token, body: { name: 'Tablet' } });
    expect([renamed.status, renamed.body.name]).toEqual([200, 'Tablet']);
    await service.rows('update sessions set auth_time = now() where user_id = $1', [service.admin.user_id]);
  });

  it('records a new name, but no unchanged one', async () => {
    const login = await service.loginAs();
    const { factor_id } = await enrolApp(service, login);
    for (const name of ['Tablet', 'Tablet'])
      await service.patch(`/auth/factor/${factor_id}`, { token: login.token, body: { name } });
    const events = await service.rows(
      `select changes from events where event_type = 'factor.renamed' and target_id = $1`,
      [login.user_id],
    );
    expect(events).toMatchObject([{ changes: { name: { before: 'Authenticator app', after: 'Tablet' } } }]);
  });

  it.each(['', 'x'.repeat(65), 'a\u0000b', null, 5])('rejects the name %j', async (name) => {
    const { status, body } = await service.post('/auth/factor/totp', { token: service.admin.token, body: { name } });
    expect([status, body.errors]).toMatchObject([400, [{ pointer: '/name' }]]);
  });

  it('resets all factors of another user, and ends the sessions of the user', async () => {
    const login = await service.loginAs();
    await enrolApp(service, login);
    await enrolApp(service, login);
    await addChallenge(login.user_id);
    expect((await reset(service.admin, login.user_id)).status).toBe(204);
    expect((await service.get('/user', login)).status).toBe(401);
    expect(await endsOf(login.user_id)).toMatchObject([{ ended_reason: 'factors_changed' }]);
    expect(await challengesOf(login.user_id)).toEqual([]);
    const user = (await service.get(`/user/${login.user_id}`, service.admin)).body;
    expect(user.second_factors).toEqual([]);
    const listed = (await service.get(`/user/${login.user_id}/factor/list`, service.admin)).body;
    expect(listed).toEqual({ items: [], recovery_codes_left: 0 });
    const events = () =>
      service.rows(`select changes from events where event_type = 'factor.reset' and target_id = $1`, [login.user_id]);
    expect(await events()).toEqual([{ changes: { kinds: { before: ['totp', 'totp'], after: [] } } }]);
    await service.mailbox.take(login.email, /reset|removed/i);
    // A user without factors: nothing ends, and nothing is recorded.
    const again = await service.login(login.name);
    expect((await reset(service.admin, login.user_id)).status).toBe(204);
    expect((await service.get('/user', again)).status).toBe(200);
    expect(await events()).toHaveLength(1);
  });

  it('rejects a reset of stronger users, of oneself and with an API key (M11)', async () => {
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const administrator = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    await enrolApp(service, administrator);
    const stronger = await reset(operator, administrator.user_id);
    expect([stronger.status, stronger.body.code]).toEqual([403, 'access.protected_user']);
    await enrolApp(service, operator);
    const own = await reset(operator, operator.user_id);
    expect([own.status, own.body.code]).toEqual([403, 'user.self_protected']);
    const { key: token } = await createKey(service, ['*']);
    const byKey = await service.delete(`/user/${operator.user_id}/factor/all`, { token });
    expect([byKey.status, byKey.body.code]).toEqual([403, 'access.denied']);
    expect(await factorsOf(administrator)).toHaveLength(1);
    expect(await factorsOf(operator)).toHaveLength(1);
    const carrierAdministrator = await service.loginAs({ roles: ['carrier_administrator'] });
    const foreign = await service.loginAs({ carrier_id: 'c2' });
    await enrolApp(service, foreign);
    expect((await reset(carrierAdministrator, foreign.user_id)).status).toBe(404);
    const colleague = await service.loginAs();
    await enrolApp(service, colleague);
    expect((await reset(carrierAdministrator, colleague.user_id)).status).toBe(204);
  });

  it('shows each kind of the confirmed factors once', async () => {
    const login = await service.loginAs();
    await enrolApp(service, login);
    await enrolApp(service, login);
    const read = await service.get(`/user/${login.user_id}`, service.admin);
    const listed = await service.get(`/user/list?user_id=${login.user_id}`, service.admin);
    for (const user of [read.body, listed.body.items[0], (await service.get('/user', login)).body])
      expect(user.second_factors).toEqual(['totp']);
    // Two factors, although of one kind: the first one can be removed.
    await require(login.user_id);
    const [first, second] = (await factorsOf(login)) as { factor_id: string }[];
    expect((await remove(login, first?.factor_id ?? '')).status).toBe(204);
    expect((await remove(login, second?.factor_id ?? '')).body.code).toBe('factor.required');
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
    const events = await service.rows<{ event_type: string; changes: object }>(
      `select event_type, changes from events where event_type like 'factor.%' and target_id = $1 order by event_id`,
      [login.user_id],
    );
    expect(events.map(({ event_type }) => event_type)).toEqual(['factor.enrolled', 'factor.renamed']);
    expect(JSON.stringify(events)).not.toContain('phone');
  });

  it('never appears in an export', async () => {
    const login = await service.loginAs();
    const { factor_id } = await enrolApp(service, login);
    const { text } = await service.get(`/user/export?user_id=${login.user_id}`, service.admin);
    expect(text).toContain(login.email);
    expect(text).not.toMatch(new RegExp(`totp|factor|${factor_id}`));
  });
});
