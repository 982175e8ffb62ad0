import { query } from '../support/embedded-postgres-sandbox';
import { ReplicatedPostgres } from '../support/replicated-postgres';
import { adminEmail, appSecret, password, type TestAnswer, type TestLogin } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { TcpProxy } from '../support/tcp-proxy';
import { until } from '../support/until';

describe('checks of tokens at a primary without standbys', () => {
  let servers: ReplicatedPostgres;
  let proxy: TcpProxy;
  let instance: ServiceProcess;
  let other: ServiceProcess | null = null;
  beforeAll(async () => {
    servers = await ReplicatedPostgres.start();
    proxy = await TcpProxy.start(servers.primary);
    instance = await start(proxy.url);
  });
  afterAll(async () => {
    await Promise.all([instance.kill(), other?.kill()]);
    await proxy.cut();
    await servers.stop();
  });

  const start = (DATABASE_URL: string) =>
    ServiceProcess.start({
      ...{ DATABASE_URL, APP_SECRET: appSecret, ADMIN_EMAIL: adminEmail, ADMIN_PASSWORD: password },
      ...{ LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0', REQUESTS_PER_ADDRESS_PER_MINUTE: '0' },
      LIVE_LOGIN_LEASE_SECONDS: '2',
    });
  const check = ({ token }: TestLogin) => instance.post('/auth/check-token', { body: { token } });
  /** Waits until a token is accepted. The lease can end for a moment on a busy machine. */
  const works = (login: TestLogin) => until(async () => (await check(login)).status === 200);
  const unavailable = (answer: TestAnswer) => {
    expect(answer).toMatchObject({ status: 503, body: { code: 'service.database_unavailable' } });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  };
  /** Returns the processes that renew the lease and wait for standbys. */
  const waiting = async (): Promise<number[]> => {
    const lease = `application_name = 'carrier-identity lease' and wait_event = 'SyncRep'`;
    return (await servers.onPrimary(`select pid from pg_stat_activity where ${lease}`)).map(({ pid }) => Number(pid));
  };
  /** Waits for another process that waits for standbys. */
  const nextWaiting = async (last: number, meanwhile?: () => Promise<void>): Promise<number> => {
    let next: number | undefined;
    await until(async () => {
      await meanwhile?.();
      return (next = (await waiting()).find((pid) => pid !== last)) !== undefined;
    });
    return next as number;
  };

  it('checks no tokens while standbys are frozen, also if commits of the role do not wait (F40)', async () => {
    const login = await instance.login(adminEmail);
    await works(login);
    await servers.onPrimary('alter role carrier_identity set synchronous_commit = off');
    await servers.waitFor('a_frozen_standby');
    await until(async () => (await check(login)).status !== 200);
    unavailable(await check(login));

    // A canceled wait is no acknowledgement, although the commit succeeds with a warning. Only the
    // second commit began recently enough to renew the lease.
    const first = await nextWaiting(0);
    await servers.onPrimary(`select pg_cancel_backend(${first})`);
    const second = await nextWaiting(first);
    await servers.onPrimary(`select pg_cancel_backend(${second})`);
    const third = await nextWaiting(second, async () => unavailable(await check(login)));
    // The process stops waiting once a new connection has replaced its connection.
    await nextWaiting(third);
    await until(async () => !(await waiting()).includes(third));
    unavailable(await check(login));

    await servers.waitFor('*');
    await servers.onPrimary('alter role carrier_identity reset synchronous_commit');
    await instance.ready();
    await works(login);
  });

  it('rejects a session that ended on the new primary, first with 503, then with 401 (F5, F40)', async () => {
    const [kept, ended] = [await instance.login(adminEmail), await instance.login(adminEmail)];
    for (const login of [kept, ended]) await works(login);

    const stored = `select 1 from sessions where session_id in ('${kept.session_id}', '${ended.session_id}')`;
    await until(async () => (await query(servers.standby, stored)).length === 2);
    await servers.promote();
    other = await start(servers.standby);
    const path = `/auth/session/${ended.session_id}`;
    expect((await other.delete(path, kept)).status).toBe(204);

    // Only the lease can stop the old instance, which knows nothing about the failover.
    await until(async () => (await check(ended)).status !== 200);
    const { token, refresh_token } = kept;
    unavailable(await check(ended));
    unavailable(await check(kept));
    unavailable(await instance.post('/auth/check-token', { body: { refresh_token } }));
    unavailable(await instance.get('/user', { token }));
    unavailable(await instance.get('/health/ready'));

    // No connection is closed: the instance itself must replace its connections.
    proxy.moveTo(servers.standby);
    await instance.ready();
    await works(kept);
    expect((await check(ended)).status).toBe(401);
  });
});
