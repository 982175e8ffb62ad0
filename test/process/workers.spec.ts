import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/process/built-program';
import { Client } from '../support/client';
import { Cluster } from '../support/process/cluster';
import { isAlive, listProcesses } from '../support/process/embedded-postgres-sandbox';
import { Mailbox } from '../support/network/mailbox';
import { RawConnection, requestHead } from '../support/network/raw-connection';
import { adminEmail, appSecret, password, type TestLogin } from '../support/service';
import type { ServiceProcess } from '../support/process/service-process';
import { shutDownUnderLoad, workerPids } from '../support/process/shutdown';
import { until } from '../support/until';

/** Time for which a worker trusts its memory without a response of the database. */
const leaseMs = 1_000;
const metricsToken = 'metrics-token-0123456789-abcdefghijklmn';
/** Maximum number of logins per address and minute. */
const limit = 8;

/** A client with one connection, which belongs to one worker. Parallel requests wait for it. */
class Connection extends Client {
  constructor(private readonly service: ServiceProcess) {
    super('');
    this.agent.maxSockets = 1;
  }

  get url(): string {
    return this.service.url;
  }

  close(): void {
    this.agent.destroy();
  }
}

let cluster: Cluster;
let mailbox: Mailbox;
let service: ServiceProcess;
beforeAll(async () => {
  cluster = await Cluster.create();
  mailbox = new Mailbox();
  await mailbox.start();
});
// A failed test may have left a process stopped, which could not end with the primary process.
afterEach(() => {
  for (const pid of [service.pid, ...children()]) if (isAlive(pid)) process.kill(pid, 'SIGCONT');
});
afterAll(async () => {
  await cluster.close();
  await mailbox.stop();
});

/** Returns the process ids of the workers that have listened, worker 1 first. */
const workers = () => workerPids(service.output);
/** Returns the process ids of all running workers. */
const children = () =>
  listProcesses('-eo', 'pid=,ppid=').flatMap((line) => {
    const [pid, parent] = line.trim().split(/\s+/).map(Number);
    return parent === service.pid ? [pid!] : [];
  });

/** The tests use the same workers in order. The last ones kill them. */
describe('an instance with two workers', () => {
  let metricsPort: number;
  let admin: TestLogin;
  let one: Connection;
  let two: Connection;
  const pids = new Map<Connection, number>();
  let asked = 0;

  beforeAll(async () => {
    metricsPort = await freePort();
    service = await cluster.start({
      ...{ WORKERS: '2', METRICS_PORT: String(metricsPort), METRICS_TOKEN: metricsToken, SMTP_URL: mailbox.url },
      ...{ LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: String(limit), TRUST_PROXY: '127.0.0.1' },
    });
    await service.until(() => workers().length === 2);
    admin = await service.login(adminEmail);
    await connect();
  });
  afterAll(() => {
    for (const connection of pids.keys()) connection.close();
  });

  /** Returns the process id of the worker behind a connection, from the log line of a request. */
  async function workerOf(connection: Client): Promise<number> {
    const id = `whose-${++asked}`;
    const line = new RegExp(`"instance":"[^"]*:(\\d+)","reqId":"${id}"`);
    expect((await connection.get('/health/live', { headers: { 'x-request-id': id } })).status).toBe(200);
    await service.until(() => line.test(service.output));
    return Number(line.exec(service.output)?.[1]);
  }

  /** Opens a connection to each worker. The primary process passes new connections on in turn. */
  async function connect(): Promise<void> {
    const found = new Map<number, Connection>();
    await service.until(async () => {
      const connection = Object.assign(new Connection(service), { admin });
      const pid = await workerOf(connection);
      pids.set(connection, pid);
      found.set(pid, connection);
      return found.size === 2;
    });
    [one, two] = [...found.values()] as [Connection, Connection];
  }

  it('merges the metrics of all workers, on either port', async () => {
    for (const connection of [one, two, two]) await connection.get('/.well-known/jwks.json');
    const scrapes = [
      await fetch(`http://127.0.0.1:${metricsPort}/metrics`),
      await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } }),
    ];
    for (const scrape of scrapes) {
      const text = await scrape.text();
      expect(text).toMatch(/_count\{[^}]*route="\/\.well-known\/jwks\.json"[^}]*\} 3$/m);
      expect(text).toMatch(/^carrier_identity_build_info\{.*\} 1$/m);
    }
  });

  it('leaves signals to the primary process, and keeps its workers with their connections', async () => {
    for (const pid of workers()) for (const signal of ['SIGTERM', 'SIGINT']) process.kill(pid, signal);
    // A worker handles a signal before its next request but one, on an open or a new connection.
    for (let round = 0; round < 2; round++)
      for (const connection of [one, two]) {
        const { status, headers } = await connection.get('/health/ready');
        expect([status, headers.connection]).toEqual([200, 'keep-alive']);
        expect(await workerOf(connection)).toBe(pids.get(connection));
      }
    const before = [one, two].map((connection) => pids.get(connection)).sort();
    await connect();
    expect([one, two].map((connection) => pids.get(connection)).sort()).toEqual(before);
    expect(service.output).not.toMatch(/worker \d ended|carrier-identity stops/);
  });

  it('shows changes and ended sessions of one worker at the other one (S16)', async () => {
    const user = await one.loginAs();
    for (let round = 0; round < 4; round++) {
      const [changing, reading] = round % 2 === 0 ? [one, two] : [two, one];
      await reading.get('/user', user);
      const body = { first_name: `Name ${round}` };
      expect((await changing.patch(`/user/${user.user_id}`, { token: admin.token, body })).status).toBe(200);
      await until(async () => (await reading.get('/user', user)).body.first_name === body.first_name);
    }
    for (const connection of [one, two]) {
      const login = await connection.login(user.name);
      for (const each of [one, two]) expect((await each.get('/user', login)).status).toBe(200);
      expect((await connection.post('/auth/logout', { token: login.token, body: {} })).status).toBe(204);
      for (const each of [one, two]) await until(async () => (await each.get('/user', login)).status === 401);
    }
  });

  it('reads the database in a worker that hung until its lease expired (S16)', async () => {
    const user = await one.loginAs();
    await two.get('/user', user);
    process.kill(pids.get(two)!, 'SIGSTOP');
    const stoppedAt = performance.now();
    const body = { first_name: 'Changed' };
    // Arrives before the notification of the change, so the worker cannot know about it.
    const read = two.get('/user', user);
    expect((await one.patch(`/user/${user.user_id}`, { token: admin.token, body })).status).toBe(200);
    await until(() => performance.now() > stoppedAt + leaseMs);
    process.kill(pids.get(two)!, 'SIGCONT');
    expect((await read).body).toMatchObject(body);
  });

  it('counts limits per address for all workers, and per worker while the primary process hangs (L6)', async () => {
    let attempts = 0;
    const attempt = async (connection: Connection, ip: string) =>
      (await connection.post('/auth/login', { body: { login: `unknown-${++attempts}`, password }, ip })).body.code;
    const all = Array.from({ length: 2 * limit }, (_, index) => attempt(index % 2 === 0 ? one : two, '203.0.113.5'));
    const codes = await Promise.all(all);
    expect(codes.filter((code) => code === 'auth.invalid_credentials')).toHaveLength(limit);
    expect(codes.filter((code) => code === 'auth.too_many_attempts')).toHaveLength(limit);
    process.kill(service.pid, 'SIGSTOP');
    expect(await attempt(one, '203.0.113.5')).toBe('auth.too_many_attempts');
    // One after another: the primary process accepts no new connection.
    for (let sent = 0; sent < limit; sent++) expect(await attempt(one, '203.0.113.6')).toBe('auth.invalid_credentials');
    expect(await attempt(one, '203.0.113.6')).toBe('auth.too_many_attempts');
    expect(await attempt(two, '203.0.113.6')).toBe('auth.invalid_credentials');
    process.kill(service.pid, 'SIGCONT');
    await until(async () => (await attempt(two, '203.0.113.5')) === 'auth.too_many_attempts');
  });

  it('replaces killed workers, which handle requests and run jobs again (F14)', async () => {
    for (const [position, name] of ['ada', 'grace'].entries()) {
      const before = workers();
      process.kill(before[position]!, 'SIGKILL');
      await service.until(() => workers().length > before.length);
      await connect();
      expect([pids.get(one), pids.get(two)]).not.toContain(before[position]);
      for (const connection of [one, two]) expect((await connection.get('/user', admin)).status).toBe(200);
      const body = { user_type: 'carrier', name, email: `${name}@example.com`, carrier_id: 'c1' };
      expect((await one.post('/user/create', { token: admin.token, body })).status).toBe(201);
      await mailbox.take(body.email);
    }
    expect(service.output).toContain('worker 1 ended and is replaced in 1000 ms: signal SIGKILL');
  });

  it('ends its workers when the primary process is killed', async () => {
    await service.kill();
    await until(() => !workers().some(isAlive));
  });
});

it('replaces a worker that ends while another one starts, and ends a worker that hangs', async () => {
  service = cluster.spawn({ WORKERS: '2' });
  // Worker 2 starts once worker 1 listens, and is stopped within its start.
  await service.until(() => workers().length === 1 && children().length === 2);
  const [first] = workers() as [number];
  const second = children().find((pid) => pid !== first)!;
  process.kill(second, 'SIGSTOP');
  expect(workers()).toEqual([first]);
  process.kill(first, 'SIGKILL');
  await service.until(() => service.output.includes('worker 1 ended and is replaced'));
  process.kill(second, 'SIGCONT');
  await service.until(() => workers().length === 3);
  expect([workers().includes(second), isAlive(second)]).toEqual([true, true]);
  process.kill(
    workers().find((pid) => ![first, second].includes(pid))!,
    'SIGSTOP',
  );
  const all = children();
  expect(await service.stop()).toBe(1);
  await until(() => !all.some(isAlive));
});

it('starts as a separate instance in a cluster worker of another program', async () => {
  const program = `
    const cluster = require('node:cluster');
    cluster.setupPrimary({ exec: ${JSON.stringify(join(__dirname, '../../dist/src/main.js'))}, execArgv: [] });
    cluster.fork().on('exit', (code) => process.exit(code));`;
  const settings = { DATABASE_URL: cluster.databaseUrl, APP_SECRET: appSecret, PORT: String(await freePort()) };
  const env = { PATH: process.env['PATH'], ...settings };
  const child = spawn(process.execPath, ['--eval', program], { cwd: tmpdir(), env });
  const closed = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  await until(() => child.exitCode !== null || output.includes(' listens on '), 240_000);
  child.kill('SIGKILL');
  await closed;
  expect(output).toContain(' listens on ');
});

describe('a shutdown', () => {
  let hanging: Server | null = null;
  // A failed test leaves no service behind that waits for its end.
  afterEach(async () => {
    await service.kill();
    hanging?.close();
  });

  it.each([
    ['SIGINT', 1],
    ['SIGTERM', 2],
  ] as const)(
    'drops no request, closes idle connections and ignores further signals: %s, %i workers (F17)',
    (signal, workers) => shutDownUnderLoad(cluster, signal, workers),
  );

  it('is announced by the readiness for SHUTDOWN_DELAY_SECONDS, in which requests succeed (F17)', async () => {
    // Longer than this test takes on any machine.
    service = await cluster.start({ SHUTDOWN_DELAY_SECONDS: '300' });
    const token = await cluster.login(service);
    process.kill(service.pid, 'SIGTERM');
    await service.until(async () => (await service.get('/health/ready')).status === 503);
    expect(await service.get('/health/ready')).toMatchObject({
      headers: { connection: 'close' },
      body: { code: 'service.stopping' },
    });
    const head = await service.inject({ method: 'HEAD', url: '/health/ready' });
    expect(head).toMatchObject({ statusCode: 503, headers: { connection: 'close' }, body: '' });
    for (const path of ['/health/live', '/user'])
      expect(await service.get(path, { token })).toMatchObject({ status: 200, headers: { connection: 'close' } });
  });

  it('disconnects unfinished requests, and requeues a mail if the mail server hangs (F10, F17)', async () => {
    hanging = createServer().listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    const reached = once(hanging, 'connection');
    const { port } = hanging.address() as AddressInfo;
    service = await cluster.start({ SMTP_URL: `smtp://127.0.0.1:${port}`, SHUTDOWN_DELAY_SECONDS: '1' });
    const token = await cluster.login(service);
    const [body, head] = await Promise.all([RawConnection.open(service.port), RawConnection.open(service.port)]);
    await head.send('GET /health/live HTTP/1.1\r\nHost');
    const headers = { 'content-type': 'application/json', 'content-length': '50', expect: '100-continue' };
    await body.send(`${requestHead('POST', '/auth/login', headers)}{`);
    await service.until(() => body.status === 100);
    const user = { user_type: 'carrier', name: 'mailed', email: 'mailed@example.com', carrier_id: 'c1' };
    expect((await service.post('/user/create', { token, body: user })).status).toBe(201);
    await reached;
    expect(await service.stop()).toBe(0);
    expect(await cluster.rows('select locked_at, attempts from graphile_worker.jobs')).toEqual([
      { locked_at: null, attempts: 1 },
    ]);
  });
});
