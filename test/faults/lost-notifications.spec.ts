import { until } from '../support/until';
import { type TestLogin, TestService } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { TcpProxy } from '../support/tcp-proxy';
import { createTestDatabase } from '../support/test-database';

/** Longer than an instance trusts its memory without a response on the notification connection. */
const leaseMs = 1_000;

/** One instance with separate proxies for the connections of requests and of notifications. */
describe('responses from memory with late or lost notifications', () => {
  let service: TestService;
  let requests: TcpProxy;
  let listening: TcpProxy;
  let instance: ServiceProcess;
  beforeAll(async () => {
    service = await TestService.start();
    requests = await TcpProxy.start(service.config.DATABASE_URL);
    listening = await TcpProxy.start(service.config.DATABASE_URL);
    // The lease for commits uses DATABASE_DIRECT_URL too. It must not end while that hangs.
    const urls = { DATABASE_URL: requests.url, DATABASE_DIRECT_URL: listening.url };
    instance = await ServiceProcess.beside(service, { ...urls, LIVE_LOGIN_LEASE_SECONDS: '300' });
  });
  afterEach(async () => {
    await requests.restore();
    await listening.restore();
    await instance.ready();
  });
  afterAll(async () => {
    await instance.kill();
    await requests.cut();
    await listening.cut();
    await service.close();
  });

  const check = async ({ token }: TestLogin, at = instance) =>
    (await at.send('POST', '/auth/check-token', { body: { token } })).status;
  const end = ({ session_id }: TestLogin) =>
    service.rows(`update sessions set ended_at = now(), ended_reason = 'revoked' where session_id = $1`, [session_id]);
  /** Returns whether a token works while no connection can reach the database. */
  const fromMemory = async (login: TestLogin, at = instance) => {
    await requests.cut();
    const status = await check(login, at);
    await requests.restore();
    return status;
  };
  /** A login that the instance holds in memory. */
  const known = async (): Promise<TestLogin> => {
    const login = await service.loginAs();
    await until(async () => (await check(login)) === 200 && (await fromMemory(login)) === 200);
    return login;
  };

  it('needs no database query, and rejects a token as soon as the notification arrives (S16)', async () => {
    const login = await known();
    await end(login);
    await until(async () => (await fromMemory(login)) === 503);
    expect(await check(login)).toBe(401);
  });

  it('reads the database as soon as the server closes the connection (S16)', async () => {
    for (let round = 0; round < 20; round++) {
      const login = await known();
      await service.rows(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = current_database() and application_name = 'carrier-identity notifications'`);
      await end(login);
      expect(await check(login)).toBe(401);
    }
    const login = await service.loginAs();
    await listening.cut();
    expect(await check(login)).toBe(200);
    expect(await fromMemory(login)).toBe(503);
    await listening.restore();
    await until(async () => (await check(login)) === 200 && (await fromMemory(login)) === 200);
  });

  it('stops using memory a second after the connection hangs, until it has caught up (S16, F29)', async () => {
    const login = await known();
    const other = await known();
    listening.freeze();
    const frozenAt = performance.now();
    await end(login);
    await until(async () => (await check(login)) === 401);
    expect(performance.now() - frozenAt).toBeLessThan(leaseMs + 3_000);
    expect(await fromMemory(other)).toBe(503);
    expect(await check(other)).toBe(200);
    await listening.restore();
    await until(async () => (await fromMemory(other)) === 200);
    expect(await check(login)).toBe(401);
  });

  it('caches no session that ends while it is read (S16)', async () => {
    for (let round = 0; round < 5; round++) {
      const later = await known();
      const login = await service.loginAs();
      const held = requests.holdAnswerTo('session_expires_at');
      const first = check(login);
      await held;
      await end(login);
      // Notifications arrive in order, so the effect of this one shows that the previous one
      // arrived.
      await end(later);
      await until(async () => (await check(later)) === 401);
      requests.release();
      expect(await first).toBe(200);
      expect(await check(login)).toBe(401);
    }
  });

  it('never uses memory behind a pooler that delivers no notification, and logs why (S16)', async () => {
    listening.swallow('instance_proof');
    await listening.cut();
    await listening.restore();
    await until(() => Promise.resolve(instance.output.includes('DATABASE_DIRECT_URL must bypass any pooler')));
    const login = await service.loginAs();
    for (let round = 0; round < 3; round++) {
      expect(await check(login)).toBe(200);
      expect(await fromMemory(login)).toBe(503);
    }
    await end(login);
    expect(await check(login)).toBe(401);
  });

  it('refuses to start with a DATABASE_DIRECT_URL of another database (S16, F28)', async () => {
    const elsewhere = await createTestDatabase();
    const { APP_SECRET } = service.config;
    const urls = { DATABASE_URL: requests.url, DATABASE_DIRECT_URL: elsewhere.url };
    const refused = new ServiceProcess({ ...urls, APP_SECRET, LOG_LEVEL: 'silent' });
    expect([await refused.exit, refused.output]).toEqual([
      1,
      'DATABASE_DIRECT_URL and DATABASE_URL must lead to the same database.\n',
    ]);
    await elsewhere.drop();
  });
});
