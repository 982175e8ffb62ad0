import { inTransaction, lockWaits } from '../support/locks';
import { addSessions } from '../support/many-sessions';
import { password, type TestAnswer, type TestLogin, TestService } from '../support/service';
import { changeSession, sessionRow } from '../support/session-rows';
import { tableContents } from '../support/tables';
import { decode, forge, ownKey } from '../support/tokens';
import { until } from '../support/until';

const max = 5;
const [idleSeconds, absoluteSeconds] = [1_000, 5_000];

describe('the end of sessions', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({
      SESSIONS_PER_USER_MAX: String(max),
      CARRIER_USER_SESSION_IDLE_SECONDS: String(idleSeconds),
      CARRIER_USER_SESSION_ABSOLUTE_SECONDS: String(absoluteSeconds),
    });
  });
  afterAll(() => service.close());

  const works = async ({ token }: { token: string }) => (await service.get('/user', { token })).status;
  const refresh = ({ refresh_token }: TestLogin) => service.post('/auth/check-token', { body: { refresh_token } });
  const list = async (query: string, { token }: { token: string } = service.admin): Promise<{ session_id: string }[]> =>
    (await service.get(`/auth/session/list?per_page=500&order_dir=asc&${query}`, { token })).body.items;
  const end = (query: string, { token }: { token: string }) => service.delete(`/auth/session/all?${query}`, { token });
  const idsOf = (sessions: { session_id: string }[]) => sessions.map(({ session_id }) => session_id).sort();
  const move = async (change: string, ...sessions: TestLogin[]) => {
    for (const session of sessions) await changeSession(service, session, change);
  };
  /** Creates a user with several sessions. */
  const loginsOf = async (count: number) => {
    const { name } = await service.createUser();
    const logins: TestLogin[] = [];
    while (logins.length < count) logins.push(await service.login(name));
    return logins as [TestLogin, TestLogin, TestLogin, ...TestLogin[]];
  };
  const statuses = (...logins: { token: string }[]) => Promise.all(logins.map(works));

  it('ends only the current session at logout, and only the others of the user with /all (S3)', async () => {
    const [first, second, third] = await loginsOf(3);
    const stranger = await service.loginAs();
    expect((await service.post('/auth/logout', { token: first.token, body: {} })).status).toBe(204);
    expect(await statuses(first, second, third)).toEqual([401, 200, 200]);
    expect((await service.delete('/auth/session/all', { token: second.token })).body).toEqual({ ended: 1 });
    expect(await statuses(second, third, stranger, service.admin)).toEqual([200, 401, 200, 200]);
  });

  it('ends no session of others without the permission, and an own session once (S5)', async () => {
    const [user, own] = await loginsOf(2);
    const foreign = await service.loginAs({ carrier_id: 'c2' });
    const manager = await service.loginAs({ roles: ['carrier_administrator'] });
    for (const { token } of [user, manager])
      for (const filter of [`user_id=${foreign.user_id}`, `session_id_ne=${user.session_id}&user_type=system`])
        expect((await end(filter, { token })).body).toEqual({ ended: 0 });
    expect(await statuses(foreign, service.admin)).toEqual([200, 200]);
    for (let time = 0; time < 2; time++)
      expect((await service.delete(`/auth/session/${own.session_id}`, { token: user.token })).status).toBe(204);
    expect(await statuses(own, user)).toEqual([401, 200]);
  });

  it('keeps the time and reason of the end when a session is ended again (S5)', async () => {
    const [victim, ended, expired] = await loginsOf(3);
    await service.post('/auth/logout', { token: ended.token, body: {} });
    await move(`expires_at = now() - interval '1 ms'`, expired);
    const ends = `ended_at, ended_reason, ended_by,
      (select count(*)::integer from events where target_id = sessions.session_id) as events`;
    const rows = async () => [await sessionRow(service, ended, ends), await sessionRow(service, expired, ends)];
    const before = await rows();
    expect(before).toMatchObject([
      { ended_reason: 'logout', ended_by: victim.user_id, events: 1 },
      { ended_at: null, ended_reason: null, ended_by: null, events: 0 },
    ]);
    for (const { session_id } of [ended, expired])
      expect((await service.delete(`/auth/session/${session_id}`, service.admin)).status).toBe(204);
    for (const filter of [`session_id_in=${idsOf([ended, expired]).join()}`, `user_id=${victim.user_id}&active=false`])
      expect((await end(filter, service.admin)).body).toEqual({ ended: 0 });
    for (const { refresh_token } of [ended, expired]) await service.post('/auth/logout', { body: { refresh_token } });
    await service.patch(`/user/${victim.user_id}`, { ...service.admin, body: { status: 'disabled' } });
    expect(await rows()).toEqual(before);
    expect(await works(victim)).toBe(401);
  });

  const timesOf = (login: TestLogin) =>
    sessionRow(
      service,
      login,
      `
        extract(epoch from expires_at - last_seen_at)::float as idle,
        extract(epoch from absolute_expires_at - created_at)::float as absolute,
        expires_at = absolute_expires_at as is_last`,
    );
  const expired = [{ active: false, ended_reason: 'expired', ended_by: null }];

  it('ends a session after its idle time, which activity extends up to the absolute limit (S4)', async () => {
    const [busy, silent] = await loginsOf(2);
    expect(await timesOf(busy)).toEqual({ idle: idleSeconds, absolute: absoluteSeconds, is_last: false });
    await move(`last_seen_at = now() - interval '990 s', expires_at = now() + interval '60 s'`, busy, silent);
    expect(await works(busy)).toBe(200);
    await until(async () => (await timesOf(busy))['idle'] === idleSeconds);
    await move(`expires_at = expires_at - interval '61 s'`, silent);
    expect([await works(silent), (await refresh(silent)).status, await works(busy)]).toEqual([401, 401, 200]);
    expect(await list(`session_id=${silent.session_id}`)).toMatchObject(expired);
    const late = `last_seen_at = now() - interval '1 h', expires_at = now() + interval '50 s'`;
    await move(`${late}, absolute_expires_at = now() + interval '60 s'`, busy);
    expect(await works(busy)).toBe(200);
    await until(async () => (await timesOf(busy))['is_last'] === true);
  });

  it('ends a session at its absolute limit despite refreshes (S6)', async () => {
    const [login] = await loginsOf(1);
    await move(`absolute_expires_at = now() + interval '100 s'`, login);
    for (let round = 0; round < 3; round++) {
      login.refresh_token = (await refresh(login)).body.refresh_token;
      expect(await timesOf(login)).toMatchObject({ is_last: true });
    }
    await move(`absolute_expires_at = now() - interval '1 ms', expires_at = now() - interval '1 ms'`, login);
    expect([await works(login), (await refresh(login)).status]).toEqual([401, 401]);
    expect(await list(`session_id=${login.session_id}`)).toMatchObject(expired);
  });

  it('ends the least recently used live sessions above the limit, with an event each (S13)', async () => {
    const { name, user_id } = await service.createUser();
    const logins: TestLogin[] = [];
    while (logins.length < max) logins.push(await service.login(name));
    const [, idle, expired, ...kept] = logins as [TestLogin, TestLogin, TestLogin, ...TestLogin[]];
    await move(`last_seen_at = now() - interval '1 hour'`, idle);
    await move(`last_seen_at = now() - interval '2 hours', expires_at = now() - interval '1 hour'`, expired);
    // The limit ignores the expired session.
    const sixth = await service.login(name);
    expect(await list(`user_id=${user_id}&ended_reason=replaced`)).toEqual([]);
    const seventh = await service.login(name);
    const live = [logins[0] as TestLogin, ...kept, sixth, seventh];
    expect(idsOf(await list(`user_id=${user_id}&active=true`))).toEqual(idsOf(live));
    const replaced = await list(`user_id=${user_id}&ended_reason=replaced`);
    expect(replaced).toMatchObject([{ session_id: idle.session_id, active: false, ended_by: null }]);
    expect([await works(idle), (await refresh(idle)).status]).toEqual([401, 401]);
    expect(await statuses(...live)).toEqual(live.map(() => 200));

    // More sessions than the limit, as after it was lowered.
    await addSessions(service, user_id, 50);
    const last = await service.login(name);
    const left = await list(`user_id=${user_id}&active=true`);
    expect(left).toHaveLength(max);
    expect(idsOf(left)).toContain(last.session_id);
    const filter = `event_type=session.ended&actor_id=${user_id}&per_page=500`;
    const events = (await service.get(`/audit/list?${filter}`, service.admin)).body.items;
    expect(events).toHaveLength(1 + 51);
    for (const event of events) {
      const changes = { user_id: { before: user_id }, ended_reason: { after: 'replaced' } };
      expect(event).toMatchObject({ actor_id: user_id, changes });
      expect([seventh.session_id, last.session_id]).toContain(event.session_id);
    }
  });

  it('lets administrators end the sessions of a user, a carrier, or all but their own (S19)', async () => {
    const one = await service.loginAs({ carrier_id: 's1' });
    const two = await service.loginAs({ carrier_id: 's1' });
    const foreign = await service.loginAs({ carrier_id: 's2' });
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const auditor = await service.loginAs({ user_type: 'system', roles: ['auditor'] });
    const alive = () => statuses(one, two, foreign, operator, auditor, service.admin);
    // The permission to read sessions does not include ending them.
    expect((await end(`user_id=${one.user_id}`, auditor)).body).toEqual({ ended: 0 });
    expect((await end(`user_id=${one.user_id}`, operator)).body).toEqual({ ended: 1 });
    expect(await alive()).toEqual([401, 200, 200, 200, 200, 200]);
    expect((await end('carrier_id=s1', operator)).status).toBe(200);
    expect(await alive()).toEqual([401, 401, 200, 200, 200, 200]);
    // Users with a role that the operator may not grant keep their sessions.
    expect((await end('active=true', operator)).status).toBe(200);
    expect(await alive()).toEqual([401, 401, 401, 200, 200, 200]);
    expect((await end('active=true', service.admin)).status).toBe(200);
    expect(await alive()).toEqual([401, 401, 401, 401, 401, 200]);
    // A filter that matches the current session spares it.
    expect((await end(`session_id=${service.admin.session_id}`, service.admin)).body).toEqual({ ended: 0 });
    expect(await works(service.admin)).toBe(200);
    expect(await list(`session_id=${one.session_id}`)).toMatchObject([{ ended_by: operator.user_id }]);
  });

  it('ends thousands of sessions with one event each, and spares the current session', async () => {
    const own = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const { user_id } = own;
    // More than one batch.
    await addSessions(service, user_id, 5_100);
    expect((await end(`user_id=${user_id}`, own)).body).toEqual({ ended: 5_100 });
    expect(idsOf(await list(`user_id=${user_id}&active=true`))).toEqual([own.session_id]);
    const events = `
      select count(distinct target_id)::integer as sessions, count(*)::integer as events
      from events
      where event_type = 'session.ended' and actor_id = $1`;
    expect(await service.rows(events, [user_id])).toEqual([{ sessions: 5_100, events: 5_100 }]);
    expect((await service.delete('/auth/session/all', own)).body).toEqual({ ended: 0 });
  });

  it('serializes two requests by filter and a bulk change of the users, and rejects none (B15, F26)', async () => {
    const { token } = service.admin;
    const ids: string[] = [];
    while (ids.length < 6) ids.push((await service.createUser({ carrier_id: 'crowd' })).user_id);
    for (const order of ['asc', 'desc']) {
      await service.rows(`update users set status = 'active' where user_id = any($1)`, [ids]);
      for (const user_id of ids) await addSessions(service, user_id, 20);
      const live = 'from sessions where user_id = any($1) and ended_at is null';
      const answers: Promise<TestAnswer>[] = [];
      await inTransaction(service, async (holder) => {
        await holder.query(`select 1 ${live} order by session_id ${order} limit 1 for update`, [ids]);
        answers.push(
          service.delete('/auth/session/all?carrier_id=crowd', { token }),
          service.patch('/user/all?carrier_id=crowd', { token, body: { status: 'disabled' } }),
          service.delete('/auth/session/all?carrier_id=crowd&active=true', { token }),
        );
        await lockWaits(service, 3);
      });
      for (const answer of answers) expect((await answer).status).toBe(200);
      expect(await service.rows(`select 1 ${live}`, [ids])).toEqual([]);
    }
  });

  it('derives no id or token of a session from another session (S21)', async () => {
    const { name } = await service.createUser();
    const logins = await Promise.all(Array.from({ length: 20 }, () => service.login(name)));
    const id = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    for (const { session_id } of logins) expect(session_id).toMatch(id);
    expect(new Set(logins.map(({ session_id }) => session_id.replaceAll('-', '').slice(13))).size).toBe(20);
    const secrets = logins.map(({ refresh_token }) => Buffer.from(refresh_token, 'base64url').subarray(16, 48));
    const onesOf = (byte: number) => byte.toString(2).replaceAll('0', '').length;
    for (const [index, secret] of secrets.entries())
      for (const other of secrets.slice(index + 1)) {
        // Half of 256 independent bits differ; 64 or fewer by chance only once in 10^15.
        const differing = secret.reduce((sum, byte, at) => sum + onesOf(byte ^ (other[at] ?? 0)), 0);
        expect(differing).toBeGreaterThan(64);
      }
  });

  it('stores no token in any table, in any encoding (S22)', async () => {
    const login = await service.loginAs();
    const refreshed = (await refresh(login)).body.refresh_token as string;
    await service.post('/auth/reset_email', { body: { email: login.email } });
    const { token: reset } = await service.mailbox.take(login.email, /\/auth\/reset\//);
    const { key } = await ownKey(service);
    const opaque = [login.refresh_token, refreshed, String(reset)];
    const parts = [login.token.split('.')[2] ?? '', forge({}, decode(login.token), key).split('.')[1] ?? ''];
    const pem = key.export({ type: 'pkcs8', format: 'der' });
    const bytes = [...opaque.map((text) => Buffer.from(text, 'base64url').subarray(16)), pem];
    const spellings = bytes.flatMap((raw) => (['hex', 'base64', 'base64url'] as const).map((to) => raw.toString(to)));
    const dump = (await tableContents(service)).toLowerCase();
    for (const spelling of [...opaque, login.token, password, ...parts, ...spellings])
      expect(dump).not.toContain(spelling.toLowerCase());
    expect(dump).toContain(login.session_id);
    expect(dump).toContain('argon2id');
  });
});
