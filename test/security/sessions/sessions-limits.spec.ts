import { password, type TestLogin, TestService } from '../../support/service';
import { until } from '../../support/until';

const works = async (service: TestService, { token }: { token: string }) =>
  (await service.get('/user', { token })).status;
const refresh = (service: TestService, { refresh_token }: TestLogin) =>
  service.post('/auth/check-token', { body: { refresh_token } });
const shown = async (service: TestService, { session_id }: TestLogin) =>
  (await service.get(`/auth/session/list?session_id=${session_id}`, { token: service.admin.token })).body.items[0];

describe('the end of sessions by time', () => {
  let service: TestService;
  let login: TestLogin & { name: string };
  beforeAll(async () => {
    service = await TestService.start({
      CARRIER_USER_SESSION_IDLE_SECONDS: '2',
      CARRIER_USER_SESSION_ABSOLUTE_SECONDS: '5',
    });
    login = await service.loginAs();
  });
  afterAll(() => service.close());

  it('keeps an active session and ends an idle one (S4)', async () => {
    const [busy, silent] = [await service.login(login.name), await service.login(login.name)];
    await until(async () => {
      expect(await works(service, busy)).toBe(200);
      return (await shown(service, silent)).active === false;
    });
    expect(await works(service, busy)).toBe(200);
    expect([await works(service, silent), (await refresh(service, silent)).status]).toEqual([401, 401]);
    expect(await shown(service, silent)).toMatchObject({ ended_reason: 'expired', ended_by: null });
  });

  it('ends a session at its absolute limit despite requests and refreshes (S6)', async () => {
    const own = await service.login(login.name);
    let { refresh_token } = own;
    let refreshed = 0;
    await until(async () => {
      const { status, body } = await refresh(service, { ...own, refresh_token });
      if (status === 200) [refresh_token, refreshed] = [body.refresh_token, refreshed + 1];
      return status === 401;
    });
    expect(refreshed).toBeGreaterThan(0);
    const session = await shown(service, own);
    expect(Date.parse(session.expires_at) - Date.parse(session.created_at)).toBe(5_000);
    expect([session.ended_reason, await works(service, own)]).toEqual(['expired', 401]);
  });
});

describe('limits of sessions', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  it('starts a new session at login, regardless of sent ids, tokens and cookies (S1)', async () => {
    const user = await service.loginAs();
    const before = await service.get('/auth/session/list', { token: user.token });
    const smuggled: Record<string, string>[] = [
      { cookie: `session_id=${user.session_id}; sid=${user.session_id}` },
      { 'x-auth-token': user.token },
      { authorization: `Bearer ${user.token}` },
      { 'x-session-id': user.session_id },
    ];
    for (const headers of smuggled) {
      const { status, body } = await service.post('/auth/login', { body: { login: user.name, password }, headers });
      expect([status, body.session_id === user.session_id]).toEqual([200, false]);
      expect(body.refresh_token).not.toBe(user.refresh_token);
    }
    for (const field of ['session_id', 'sid', 'token', 'refresh_token']) {
      const { status } = await service.post('/auth/login', {
        body: { login: user.name, password, [field]: user.session_id },
      });
      expect(status).toBe(400);
    }
    const after = await service.get('/auth/session/list', { token: user.token });
    expect([before.body.total.value, after.body.total.value]).toEqual([1, 5]);
  });

  it('keeps the 20 most recently used of 25 sessions, and records each end (S13)', async () => {
    const user = await service.createUser();
    const logins: TestLogin[] = [];
    for (let i = 0; i < 25; i++) logins.push(await service.login(user.name));
    const last = logins[24] as TestLogin;
    const list = async (query: string) =>
      (await service.get(`/auth/session/list?per_page=500&order_dir=asc&${query}`, { token: last.token })).body.items;
    const ids = (sessions: { session_id: string }[]) => sessions.map(({ session_id }) => session_id);
    expect(ids(await list('active=true')).sort()).toEqual(ids(logins.slice(5)).sort());
    const replaced = await list('ended_reason=replaced');
    expect(ids(replaced).sort()).toEqual(ids(logins.slice(0, 5)).sort());
    for (const session of replaced) expect([session.active, session.ended_by]).toEqual([false, null]);
    const answers = await Promise.all(
      logins.map(async (login) => [await works(service, login), (await refresh(service, login)).status]),
    );
    expect(answers).toEqual(logins.map((_, i) => (i < 5 ? [401, 401] : [200, 200])));
    const { body } = await service.get(
      `/audit/list?event_type=session.ended&target_id_in=${ids(replaced).join()}`,
      service.admin,
    );
    expect(body.items).toHaveLength(5);
    for (const event of body.items) {
      expect(event).toMatchObject({
        actor_id: user.user_id,
        changes: { user_id: { before: user.user_id }, ended_reason: { after: 'replaced' } },
      });
      expect(ids(logins.slice(20))).toContain(event.session_id);
    }
  });

  it('lets administrators end the sessions of a user, a carrier, or all but their own (S19)', async () => {
    const [one, two, foreign] = [
      await service.loginAs(),
      await service.loginAs(),
      await service.loginAs({ carrier_id: 'c2' }),
    ];
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const auditor = await service.loginAs({ user_type: 'system', roles: ['auditor'] });
    const alive = () =>
      Promise.all([one, two, foreign, operator, auditor, service.admin].map((login) => works(service, login)));
    const end = (query: string, { token }: { token: string }) =>
      service.delete(`/auth/session/all?${query}`, { token });
    // The permission to read sessions does not include ending them.
    expect((await end(`user_id=${one.user_id}`, auditor)).body).toEqual({ ended: 0 });
    expect((await end(`user_id=${one.user_id}`, operator)).body).toEqual({ ended: 1 });
    expect(await alive()).toEqual([401, 200, 200, 200, 200, 200]);
    expect((await end('carrier_id=c1', operator)).status).toBe(200);
    expect(await alive()).toEqual([401, 401, 200, 200, 200, 200]);
    // Users with a role that the operator may not grant keep their sessions.
    expect((await end('active=true', operator)).status).toBe(200);
    expect(await alive()).toEqual([401, 401, 401, 200, 200, 200]);
    expect((await end('active=true', service.admin)).status).toBe(200);
    expect(await alive()).toEqual([401, 401, 401, 401, 401, 200]);
    // A filter that matches the current session spares it.
    expect((await end(`session_id=${service.admin.session_id}`, service.admin)).body).toEqual({ ended: 0 });
    expect(await works(service, service.admin)).toBe(200);
    expect((await shown(service, one)).ended_by).toBe(operator.user_id);
  });

  it('derives nothing of a session from another one (S21)', async () => {
    const user = await service.createUser();
    const logins = await Promise.all(Array.from({ length: 20 }, () => service.login(user.name)));
    const random = logins.map(({ session_id }) =>
      session_id
        .replaceAll('-', '')
        .slice(13)
        .replace(/^(...)./, '$1'),
    );
    expect(new Set(random).size).toBe(20);
    const secrets = logins.map(({ refresh_token }) => Buffer.from(refresh_token, 'base64url').subarray(16, 48));
    for (const [i, secret] of secrets.entries())
      for (const other of secrets.slice(i + 1)) {
        // Half of 256 independent bits differ; 64 or fewer by chance only once in 10^15.
        const differing = secret.reduce(
          (sum, byte, at) => sum + (byte ^ (other[at] ?? 0)).toString(2).replaceAll('0', '').length,
          0,
        );
        expect(differing).toBeGreaterThan(64);
      }
    const id = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    for (const { session_id } of logins) expect(session_id).toMatch(id);
  });

  it('lists only sessions in the scope of the caller, by any filter (S17)', async () => {
    const foreign = await service.loginAs({ carrier_id: 'c2' });
    const manager = await service.loginAs({ roles: ['carrier_administrator'] });
    const plain = await service.loginAs();
    const scoped = await service.loginAs({ user_type: 'system', roles: ['operator'], carrier_scope: ['c1'] });
    for (const query of [
      'carrier_id=c2',
      'carrier_id_like=c2_',
      `session_id=${foreign.session_id}`,
      'user_type=system',
      'active=true',
      'ip_isnull=false',
      'ended_reason_isnull=true',
    ])
      for (const caller of [manager, plain, scoped]) {
        const { status, body } = await service.get(`/auth/session/list?per_page=500&count=exact&${query}`, {
          token: caller.token,
        });
        expect(status).toBe(200);
        const seen = body.items.filter((item: { user_id: string }) => item.user_id !== caller.user_id);
        for (const item of seen) expect([query, item.carrier_id]).toEqual([query, 'c1']);
        if (caller === plain) expect(seen).toEqual([]);
        expect(body.total.value).toBe(body.items.length);
      }
  });

  it('stores hostile user agents as text, within their limit (S18)', async () => {
    const user = await service.createUser();
    const agents = [
      'Mozilla/5.0 (1.'.padEnd(10_000, '1.'),
      '<script>alert(1)</script>'.repeat(400),
      'Mozilla/5.0 (Linux; '.padEnd(10_000, 'Android '),
      '(/'.repeat(5_000),
      '\u00ff'.repeat(512),
      '__proto__/1.0',
      'constructor/1 toString',
    ];
    for (const agent of agents) {
      const { body } = await service.post('/auth/login', {
        body: { login: user.name, password },
        headers: { 'user-agent': agent },
      });
      const answer = await service.post('/auth/check-token', { body: { token: body.access_token } });
      const { browser, os, device, user_agent } = answer.body.session;
      expect(user_agent.length).toBeLessThanOrEqual(512);
      for (const part of [browser, os, device]) if (part !== null) expect(part.length).toBeLessThanOrEqual(81);
      expect(`${browser}${os}${device}`).not.toContain('<');
    }
  });
});
