import { until } from '../../support/until';
import { password, type TestLogin, TestService } from '../../support/service';
import { ServiceProcess } from '../../support/service-process';
import { tableContents } from '../../support/tables';
import { forge, decode, ownKey } from '../../support/tokens';

type User = TestLogin & { name: string; email: string };

describe('sessions', () => {
  let service: TestService;
  let other: ServiceProcess;
  let user: User;
  beforeAll(async () => {
    service = await TestService.start();
    other = await ServiceProcess.beside(service);
    user = await service.loginAs({ roles: ['carrier_user'] });
  });
  afterAll(async () => {
    await other.kill();
    await service.close();
  });

  const works = async ({ token }: { token: string }) => (await service.get('/user', { token })).status;
  const worksThere = async ({ token }: { token: string }) => (await other.send('GET', '/user', { token })).status;
  /** Returns the status on the other instance once the notification arrived, within a second. */
  const soonThere = async (login: { token: string }) => {
    await until(async () => (await worksThere(login)) !== 200, 1_000).catch(() => undefined);
    return worksThere(login);
  };
  const refreshes = async ({ refresh_token }: TestLogin) =>
    (await service.post('/auth/check-token', { body: { refresh_token } })).status;
  const refreshesThere = async ({ refresh_token }: TestLogin) =>
    (await other.send('POST', '/auth/check-token', { body: { refresh_token } })).status;
  const again = async (): Promise<User> => ({ ...user, ...(await service.login(user.name)) });
  const admin = () => ({ token: service.admin.token });

  async function secondsLeft({ session_id }: TestLogin): Promise<{ idle: number; absolute: number }> {
    const [row] = await service.rows<{ idle: number; absolute: number }>(
      `
        select
          extract(epoch from expires_at - now())::float as idle,
          extract(epoch from absolute_expires_at - now())::float as absolute
        from sessions
        where session_id = $1`,
      [session_id],
    );
    return row ?? { idle: NaN, absolute: NaN };
  }
  const move = ({ session_id }: TestLogin, columns: string) =>
    service.rows(`update sessions set ${columns} where session_id = $1`, [session_id]);

  it('rejects both tokens after logout at once, also on the other instance (S2)', async () => {
    for (const byRefreshToken of [false, true]) {
      const login = await again();
      expect([await works(login), await worksThere(login)]).toEqual([200, 200]);
      const request = byRefreshToken
        ? { body: { refresh_token: login.refresh_token } }
        : { token: login.token, body: {} };
      expect((await service.post('/auth/logout', request)).status).toBe(204);
      expect(await soonThere(login)).toBe(401);
      expect([await works(login), await refreshesThere(login), await refreshes(login)]).toEqual([401, 401, 401]);
      expect((await service.post('/auth/logout', request)).status).not.toBe(200);
    }
  });

  it('ends this session at logout, and only the others of the same user with all (S3)', async () => {
    const [first, second, third] = [await again(), await again(), await again()];
    const stranger = await service.loginAs();
    await service.post('/auth/logout', { token: first.token, body: {} });
    expect([await works(first), await works(second), await works(third)]).toEqual([401, 200, 200]);
    const { status, body } = await service.delete('/auth/session/all', { token: second.token });
    expect([status, body.ended]).toEqual([200, 2]);
    expect([await works(user), await works(second), await works(third), await works(stranger)]).toEqual([
      401, 200, 401, 200,
    ]);
    expect(await works(service.admin)).toBe(200);
    user = second;
  });

  it('rejects an idle session; activity extends it, but not its absolute limit (S4)', async () => {
    const login = await again();
    await move(login, `last_seen_at = now() - interval '23 hours', expires_at = now() + interval '1 hour'`);
    expect(await works(login)).toBe(200);
    await until(async () => (await secondsLeft(login)).idle > 86_000);
    expect((await secondsLeft(login)).idle).toBeLessThanOrEqual(86_400);
    await move(
      login,
      `last_seen_at = now() - interval '1 hour',
       absolute_expires_at = now() + interval '60 s',
       expires_at = now() + interval '50 s'`,
    );
    expect(await works(login)).toBe(200);
    await until(async () => (await secondsLeft(login)).idle > 55);
    expect((await secondsLeft(login)).idle).toBeLessThanOrEqual(60);
    await move(login, `expires_at = now() - interval '1 ms'`);
    expect([await works(login), await refreshes(login), await soonThere(login)]).toEqual([401, 401, 401]);
    expect((await secondsLeft(login)).idle).toBeLessThan(0);
    const { body } = await service.get(`/auth/session/list?session_id=${login.session_id}`, admin());
    expect(body.items[0]).toMatchObject({ active: false, ended_reason: 'expired' });
  });

  it('responds as to a missing session when a caller ends one of another user (S5)', async () => {
    const foreign = await service.loginAs({ carrier_id: 'c2' });
    const manager = await service.loginAs({ roles: ['carrier_administrator'] });
    for (const id of [foreign.session_id, service.admin.session_id, '01940000-0000-7000-8000-000000000000']) {
      for (const { token } of [user, manager]) {
        const answer = await service.delete(`/auth/session/${id}`, { token });
        expect([answer.status, answer.body.code]).toEqual([404, 'session.not_found']);
      }
    }
    for (const { token } of [user, manager]) {
      expect((await service.delete(`/auth/session/all?user_id=${foreign.user_id}`, { token })).body).toEqual({
        ended: 0,
      });
      expect(
        (await service.delete(`/auth/session/all?session_id_ne=${user.session_id}&user_type=system`, { token })).body,
      ).toEqual({
        ended: 0,
      });
    }
    expect([await works(foreign), await works(service.admin)]).toEqual([200, 200]);
    const own = await again();
    expect((await service.delete(`/auth/session/${own.session_id}`, { token: user.token })).status).toBe(204);
    expect((await service.delete(`/auth/session/${own.session_id}`, { token: user.token })).status).toBe(204);
    expect(await works(own)).toBe(401);
  });

  it('keeps the time and reason of the end when a session is ended again (S5)', async () => {
    const victim = await service.loginAs();
    const [ended, expired] = [await service.login(victim.name), await service.login(victim.name)];
    await service.post('/auth/logout', { token: ended.token, body: {} });
    await move(expired, `expires_at = now() - interval '1 ms'`);
    const rows = () =>
      service.rows(
        `
          select
            session_id, ended_at, ended_reason, ended_by,
            (select count(*)::integer from events where target_id = sessions.session_id) as events
          from sessions
          where session_id = any($1)
          order by session_id`,
        [[ended.session_id, expired.session_id]],
      );
    const before = await rows();
    expect(before).toMatchObject([
      { session_id: ended.session_id, ended_reason: 'logout', ended_by: victim.user_id, events: 1 },
      { session_id: expired.session_id, ended_at: null, ended_reason: null, ended_by: null, events: 0 },
    ]);
    for (const { session_id } of [ended, expired])
      expect((await service.delete(`/auth/session/${session_id}`, admin())).status).toBe(204);
    const filters = [
      `session_id_in=${ended.session_id},${expired.session_id}`,
      `user_id=${victim.user_id}&active=false`,
    ];
    for (const filter of filters)
      expect((await service.delete(`/auth/session/all?${filter}`, admin())).body).toEqual({ ended: 0 });
    for (const refresh_token of [ended.refresh_token, expired.refresh_token])
      await service.post('/auth/logout', { body: { refresh_token } });
    await service.patch(`/user/${victim.user_id}`, { ...admin(), body: { status: 'disabled' } });
    expect(await rows()).toEqual(before);
    expect(await works(victim)).toBe(401);
  });

  it('ends a session at its absolute limit despite refreshes (S6)', async () => {
    const login = await again();
    await move(login, `absolute_expires_at = now() + interval '100 s'`);
    let { refresh_token } = login;
    for (let round = 0; round < 5; round++) {
      const { body } = await service.post('/auth/check-token', { body: { refresh_token } });
      refresh_token = body.refresh_token;
      const { idle, absolute } = await secondsLeft(login);
      expect(idle).toBeLessThanOrEqual(absolute);
      expect(absolute).toBeLessThanOrEqual(100);
    }
    const past = `now() - interval '1 ms'`;
    await move(login, `absolute_expires_at = ${past}, expires_at = ${past}`);
    expect([await works(login), await refreshes({ ...login, refresh_token })]).toEqual([401, 401]);
  });

  it('rejects disabled, deleted and demoted users on the next request, also on the other instance (S7)', async () => {
    const body = { status: 'disabled' };
    const changes: [string, (id: string) => Promise<{ status: number }>][] = [
      ['disabled', (id) => service.patch(`/user/${id}`, { ...admin(), body })],
      ['disabled in bulk', (id) => service.patch(`/user/all?user_id=${id}`, { ...admin(), body })],
      ['deleted', (id) => service.delete(`/user/${id}`, admin())],
      ['deleted in bulk', (id) => service.delete(`/user/all?user_id=${id}`, admin())],
    ];
    for (const [change, act] of changes) {
      const victim = await service.loginAs();
      expect([await works(victim), await worksThere(victim)]).toEqual([200, 200]);
      expect([200, 204]).toContain((await act(victim.user_id)).status);
      const after = [await soonThere(victim), await works(victim), await refreshesThere(victim)];
      expect([change, ...after]).toEqual([change, 401, 401, 401]);
      // Enabling the user again revives no session.
      await service.patch(`/user/${victim.user_id}`, { ...admin(), body: { status: 'active' } });
      expect([await works(victim), await refreshes(victim)]).toEqual([401, 401]);
    }
    const manager = await service.loginAs({ roles: ['carrier_administrator'] });
    const lists = async () => (await other.send('GET', '/user/list', { token: manager.token })).status;
    // The other instance receives the notification after the response to the change.
    const seen = (status: number) => until(async () => (await lists()) === status, 1_000);
    expect(await lists()).toBe(200);
    await service.patch(`/user/${manager.user_id}`, { ...admin(), body: { roles: [] } });
    await seen(403);
    const all = `/user/all?user_id=${manager.user_id}`;
    await service.patch(all, { ...admin(), body: { roles_add: ['carrier_administrator'] } });
    await seen(200);
    await service.patch(all, { ...admin(), body: { roles_remove: ['carrier_administrator'] } });
    await seen(403);
  });

  it('ends other sessions after a new password, and on request after a new address (S12)', async () => {
    const victim = await service.loginAs();
    const [own, thief] = [await service.login(victim.name), await service.login(victim.name)];
    const next = 'a quite different phrase';
    const change = { token: own.token, body: { current_password: password, new_password: next } };
    expect((await other.send('POST', '/auth/password', change)).status).toBe(204);
    expect([await works(thief), await refreshes(thief), await soonThere(victim)]).toEqual([401, 401, 401]);
    expect([await works(own), await worksThere(own), await refreshes(own)]).toEqual([200, 200, 200]);
    const later = await service.login(victim.name, next);
    await service.post('/auth/email', {
      token: own.token,
      body: { email: `new-${victim.email}`, current_password: next },
    });
    const { token } = await service.mailbox.take(`new-${victim.email}`, /\/auth\/email\//);
    expect((await service.post(`/auth/email/${token}`, { body: {} })).status).toBe(204);
    expect((await service.delete('/auth/session/all', { token: own.token })).body).toEqual({ ended: 1 });
    expect([await works(own), await works(later)]).toEqual([200, 401]);
  });

  it('lists own and visible sessions without tokens and hashes, and accepts no id as token (S17)', async () => {
    const foreign = await service.loginAs({ carrier_id: 'c2' });
    const manager = await service.loginAs({ roles: ['carrier_administrator'] });
    const list = async ({ token }: { token: string }, query = '') =>
      (await service.get(`/auth/session/list?per_page=500${query}`, { token })).body.items;
    for (const { user_id } of await list(user)) expect(user_id).toBe(user.user_id);
    expect(await list(user, `&user_id=${manager.user_id}`)).toEqual([]);
    const seen = await list(manager);
    expect(new Set(seen.map(({ carrier_id }: { carrier_id: string }) => carrier_id))).toEqual(new Set(['c1']));
    expect(seen.map(({ session_id }: TestLogin) => session_id)).toContain(user.session_id);
    expect(await list(manager, `&user_id=${foreign.user_id}`)).toEqual([]);
    const all = await list(service.admin);
    const ids = all.map(({ session_id }: TestLogin) => session_id);
    for (const { session_id } of [user, manager, foreign, service.admin]) expect(ids).toContain(session_id);
    for (const item of all) expect(Object.keys(item).filter((name) => /token|hash|secret/.test(name))).toEqual([]);
    for (const text of [user.session_id, user.session_id.replaceAll('-', '')]) {
      expect((await service.get('/user', { token: text })).status).toBe(401);
      expect((await service.post('/auth/check-token', { body: { refresh_token: text } })).status).toBe(401);
    }
    expect(JSON.stringify(all)).not.toContain(user.refresh_token.slice(30));
  });

  it('truncates session metadata, removes control characters and stores the address of the client (S18)', async () => {
    // Node.js rejects the control characters below U+0020 itself.
    const agent = `Evil\u009b[31m <script>alert(1)</script> \u009b${'x'.repeat(10_000)}`;
    const spoofed = ['x-real-ip', 'cf-connecting-ip', 'true-client-ip', 'x-client-ip', 'forwarded'];
    const headers = { 'user-agent': agent, ...Object.fromEntries(spoofed.map((name) => [name, '203.0.113.66'])) };
    const { body } = await service.post('/auth/login', {
      body: { login: user.name, password },
      headers,
      ip: '192.0.2.7',
    });
    const { body: page } = await service.get(`/auth/session/list?session_id=${body.session_id}`, {
      token: body.access_token,
    });
    const [{ ip, user_agent }] = page.items;
    expect(ip).toBe('192.0.2.7');
    expect(user_agent).toHaveLength(512);
    expect(user_agent).toMatch(/^Evil.?\[31m <script>/);
    // eslint-disable-next-line no-control-regex -- looks for control characters
    expect(user_agent).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
    const stored = 'select host(last_login_ip) as ip from user_logins where user_id = $1';
    expect(await service.rows(stored, [user.user_id])).toEqual([{ ip: '192.0.2.7' }]);
  });

  it('stores no token in any table, in any encoding (S22)', async () => {
    const login = await again();
    const refreshed = await service.post('/auth/check-token', { body: { refresh_token: login.refresh_token } });
    await service.post('/auth/reset_email', { body: { email: user.email } });
    const { token: reset } = await service.mailbox.take(user.email, /\/auth\/reset\//);
    const { key } = await ownKey(service);
    const secrets = [login.refresh_token, refreshed.body.refresh_token, reset, login.token, password] as string[];
    const parts = [login.token.split('.')[2] ?? '', forge({}, decode(login.token), key).split('.')[1] ?? ''];
    const pem = key.export({ type: 'pkcs8', format: 'der' });
    const bytes = [login.refresh_token, refreshed.body.refresh_token, reset ?? ''].map((text) =>
      Buffer.from(text, 'base64url').subarray(16),
    );
    const spellings = [...bytes, pem].flatMap((raw) => [
      raw.toString('hex'),
      raw.toString('base64'),
      raw.toString('base64url'),
    ]);
    const dump = (await tableContents(service)).toLowerCase();
    for (const spelling of [...secrets, ...parts, ...spellings]) expect(dump).not.toContain(spelling.toLowerCase());
    expect(dump).toContain(login.session_id);
    expect(dump).toContain('argon2id');
  });
});
