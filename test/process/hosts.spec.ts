import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { query } from '../support/process/embedded-postgres-sandbox';
import { ReplicatedPostgres } from '../support/process/replicated-postgres';
import { adminEmail, appSecret, password } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { TcpProxy } from '../support/network/tcp-proxy';
import { until } from '../support/until';

/** The tests run in order: the standby of the first test is the primary of the others. */
describe('a service with several hosts in DATABASE_URL', () => {
  let servers: ReplicatedPostgres;
  let instance: ServiceProcess;
  const others: ServiceProcess[] = [];
  beforeAll(async () => {
    servers = await ReplicatedPostgres.start();
    // Commits do not wait for the standby: the lease cannot notice a failover.
    await servers.waitFor('');
    instance = await start(servers.standby, await closedUrl(servers.primary), servers.primary);
    // Another text is another primary to find, as for a pooler beside each server.
    const direct = urlOfAll(servers.primary, servers.standby);
    others.push(await startWith({ DATABASE_DIRECT_URL: direct }, servers.primary, servers.standby));
  });
  afterAll(async () => {
    await Promise.all([instance, ...others].map((each) => each?.kill()));
    await servers.stop();
  });

  const start = (first: string, ...more: string[]) => startWith({}, first, ...more);
  const startWith = (env: Record<string, string>, first: string, ...more: string[]) =>
    ServiceProcess.start({
      ...env,
      DATABASE_URL: `${urlOfAll(first, ...more)}?target_session_attrs=read-write`,
      ...{ APP_SECRET: appSecret, ADMIN_EMAIL: adminEmail, ADMIN_PASSWORD: password },
      ...{ LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0', REQUESTS_PER_ADDRESS_PER_MINUTE: '0' },
    });
  const connections = `
    select distinct application_name as name
    from pg_stat_activity
    where application_name like 'carrier-identity %' and application_name !~ '(primary|owner)$'
    order by name`;
  const connectedTo = async (url: string) => (await query(url, connections)).map(({ name }) => name);
  const all = ['jobs', 'lease', 'notifications', 'requests'].map((purpose) => `carrier-identity ${purpose}`);

  it('migrates and uses the primary, behind a standby and a host that is down', async () => {
    const { token } = await instance.login(adminEmail);
    expect((await instance.post('/auth/check-token', { body: { token } })).status).toBe(200);
    expect(await connectedTo(servers.primary)).toEqual(all);
  });

  it('leaves an old primary that still acknowledges commits, with all connections (F40)', async () => {
    const { token } = await instance.login(adminEmail);
    await servers.promote();
    await until(async () => (await connectedTo(servers.standby)).length === all.length);
    await until(async () => (await connectedTo(servers.primary)).length === 0);
    expect((await instance.post('/auth/check-token', { body: { token } })).status).toBe(200);
    const { session_id } = await instance.login(adminEmail);
    const stored = `select 1 from sessions where session_id = '${session_id}'`;
    expect([await query(servers.primary, stored), await query(servers.standby, stored)]).toEqual([
      [],
      [expect.anything()],
    ]);
  });

  it('uses no old primary that still accepts writes, not even while the new one restarts (F40)', async () => {
    const proxy = await TcpProxy.start(servers.standby);
    const other = await start(servers.primary, proxy.url);
    others.push(other);
    await other.login(adminEmail);
    await proxy.cut();
    const login = async () => (await other.post('/auth/login', { body: { login: adminEmail, password } })).status;
    const statuses: number[] = [];
    for (let n = 0; n < 10; n++) statuses.push(await login());
    expect(statuses).toEqual(Array(10).fill(503));
    expect(await connectedTo(servers.primary)).toEqual([]);
    await proxy.restore();
    await until(async () => (await login()) === 200);
    await other.kill();
    await proxy.cut();
  });

  it('starts although a host accepts connections and never responds (F7)', async () => {
    const proxy = await TcpProxy.start(servers.standby);
    proxy.freeze();
    others.push(await start(proxy.url, servers.standby));
    await proxy.cut();
  });

  it('names each host that cannot be used, and no password', async () => {
    const closed = [await closedUrl(servers.primary), await closedUrl(servers.primary)] as const;
    const output = await start(...closed).then(
      () => 'it started',
      (error: Error) => error.message,
    );
    for (const url of closed) expect(output).toContain(`${new URL(url).host}: connect ECONNREFUSED`);
    expect(output).not.toContain(new URL(servers.primary).password);
  });
});

/** Returns a URL with the hosts of several URLs. */
function urlOfAll(first: string, ...more: string[]): string {
  return first.replace(new URL(first).host, [first, ...more].map((url) => new URL(url).host).join());
}

/** Returns a URL with a port on which nothing listens. */
async function closedUrl(like: string): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(like);
  url.port = String((server.address() as AddressInfo).port);
  server.close();
  return url.href;
}
