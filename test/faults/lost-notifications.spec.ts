import { Client } from 'pg';
import { until } from '../support/links';
import { type TestLogin, TestService } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { TcpProxy } from '../support/tcp-proxy';
import { createTestDatabase } from '../support/test-database';

/** Longer than an instance trusts its memory without an answer of the listening connection. */
const leaseMs = 1_000;

/**
 * One instance, between which and the database the requests' connections and the listening one can
 * be disturbed apart from each other.
 */
describe('what is known from memory, when notifications are late or lost', () => {
  let service: TestService;
  let requests: TcpProxy;
  let listening: TcpProxy;
  let instance: ServiceProcess;
  beforeAll(async () => {
    service = await TestService.start();
    requests = await TcpProxy.start(service.config.DATABASE_URL);
    listening = await TcpProxy.start(service.config.DATABASE_URL);
    instance = await ServiceProcess.beside(service, { DATABASE_URL: requests.url, DATABASE_DIRECT_URL: listening.url });
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
  /** Whether a token is good without a connection on which the database could be asked. */
  const fromMemory = async (login: TestLogin, at = instance) => {
    await requests.cut();
    const status = await check(login, at);
    await requests.restore();
    return status;
  };
  /** A login that the instance has in memory. */
  const known = async (): Promise<TestLogin> => {
    const login = await service.loginAs();
    await until(async () => (await check(login)) === 200 && (await fromMemory(login)) === 200);
    return login;
  };

  it('S16 the connection is there: answered without asking the database, and refused as soon as the notification is there', async () => {
    const login = await known();
    await end(login);
    await until(async () => (await fromMemory(login)) === 503);
    expect(await check(login)).toBe(401);
  });

  it('S16 the connection is closed by the server: at once each answer comes from the database, and none without it', async () => {
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

  it('S16 the connection hangs: after a second without an answer of it memory is not believed any more, and again once it has caught up', async () => {
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

  it('S16 a session ends while it is being read: what was read is not kept', async () => {
    for (let round = 0; round < 5; round++) {
      const later = await known();
      const login = await service.loginAs();
      const held = requests.holdAnswerTo('session_expires_at');
      const first = check(login);
      await held;
      await end(login);
      // notifications come in order: this one's effect tells that the one before is there
      await end(later);
      await until(async () => (await check(later)) === 401);
      requests.release();
      expect(await first).toBe(200);
      expect(await check(login)).toBe(401);
    }
  });

  it('S16 a pooler that takes LISTEN and delivers nothing: memory is never believed, and the log says why', async () => {
    listening.swallow('instance_proof');
    await listening.cut();
    await listening.restore();
    await until(() => Promise.resolve(instance.output.includes('DATABASE_DIRECT_URL must lead past any pooler')));
    const login = await service.loginAs();
    for (let round = 0; round < 3; round++) {
      expect(await check(login)).toBe(200);
      expect(await fromMemory(login)).toBe(503);
    }
    await end(login);
    expect(await check(login)).toBe(401);
  });

  it('S16 DATABASE_DIRECT_URL leads to another database, in which others prove theirs: memory is never believed, and the log says why', async () => {
    const elsewhere = await createTestDatabase();
    const neighbour = new Client({ connectionString: elsewhere.url });
    await neighbour.connect();
    const lost = await ServiceProcess.beside(service, {
      DATABASE_URL: requests.url,
      DATABASE_DIRECT_URL: elsewhere.url,
    });
    try {
      await until(async () => {
        await neighbour.query(`select pg_notify('instance_proof', gen_random_uuid()::text)`);
        return lost.output.includes('DATABASE_DIRECT_URL must lead past any pooler');
      });
      const login = await service.loginAs();
      for (let round = 0; round < 3; round++) {
        expect(await check(login, lost)).toBe(200);
        expect(await fromMemory(login, lost)).toBe(503);
      }
      await end(login);
      expect(await check(login, lost)).toBe(401);
    } finally {
      await lost.kill();
      await neighbour.end();
      await elsewhere.drop();
    }
  });
});
