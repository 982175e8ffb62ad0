import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Mailbox } from '../support/mailbox';
import { until } from '../support/until';
import { adminEmail, appSecret, password } from '../support/in-process';
import { freePort, runBuilt, type ServiceProcess, startServiceProcess } from '../support/built-program';
import { isAlive } from '../support/embedded-postgres-sandbox';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { workerPids } from '../support/worker-pids';

const rounds = 30;
/** Time for which an instance trusts its caches without a response of the database. */
const leaseMs = 1_000;
const keepAlive = { keepAlive: true, maxSockets: 1 };
const metricsToken = 'metrics-token-0123456789-abcdefghijklmn';
let database: TestDatabase;
let mailbox: Mailbox;
let service: ServiceProcess;
let agents: [Agent, Agent];
/** all connections that the tests opened */
const opened: Agent[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  mailbox = new Mailbox();
  await mailbox.start();
});

afterAll(async () => {
  await mailbox.stop();
  await database.drop();
});

interface Answer {
  status: number;
  code: string;
  etag: string;
  body: { access_token?: string; user_id?: string; first_name?: string; code?: string };
}

const environment = () => ({
  DATABASE_URL: database.url,
  APP_SECRET: appSecret,
  SMTP_URL: mailbox.url,
  ADMIN_EMAIL: adminEmail,
  ADMIN_PASSWORD: password,
  LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '20',
  REQUESTS_PER_ADDRESS_PER_MINUTE: '0',
  TRUST_PROXY: '127.0.0.1',
  METRICS_TOKEN: metricsToken,
  WORKERS: '2',
});

/** Opens connections, which the primary process passes to the workers in turn. */
async function connections(): Promise<[Agent, Agent]> {
  const pair: [Agent, Agent] = [new Agent(keepAlive), new Agent(keepAlive)];
  opened.push(...pair);
  for (const agent of pair) expect((await send(agent, 'GET', '/health/live')).status).toBe(200);
  return pair;
}

async function send(
  agent: Agent | undefined,
  method: string,
  path: string,
  { token, body, id, address }: { token?: string; body?: object; id?: string; address?: string } = {},
): Promise<Answer> {
  const headers = {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(id === undefined ? {} : { 'x-request-id': id }),
    ...(address === undefined ? {} : { 'x-forwarded-for': address }),
  };
  const call = request(`${service.url}${path}`, { method, headers, ...(agent === undefined ? {} : { agent }) });
  call.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  const parsed = text === '' ? {} : (JSON.parse(text) as Answer['body']);
  const { statusCode: status = 0, headers: answered } = response;
  return { status, code: parsed.code ?? '', etag: answered.etag ?? '', body: parsed };
}

let logins = 0;

async function login(agent = agents[0], name = 'administrator'): Promise<string> {
  // A separate address for each login, because one test reaches the limit of logins per address.
  const address = `198.51.100.${++logins}`;
  const { body } = await send(agent, 'POST', '/auth/login', { body: { login: name, password }, address });
  return body.access_token as string;
}

/** Process ids of the workers that have listened, worker 1 first. */
function workers(): number[] {
  return workerPids(service.output());
}

/** Kills the worker that listened at this position, and waits for its replacement. */
async function killWorker(position: number): Promise<void> {
  const before = workers().length;
  process.kill(workers()[position]!, 'SIGKILL');
  await until(() => workers().length > before);
}

/** Ids of the workers that responded to requests whose id begins with a text. */
function respondents(id: string): Set<string> {
  const lines = service.output().matchAll(new RegExp(`"instance":"([^"]+)","reqId":"${id}[^"]*"`, 'g'));
  return new Set([...lines].map(([, instance]) => instance as string));
}

let asked = 0;

/** Returns the process id of the worker behind a connection. */
async function workerOf(agent: Agent | undefined): Promise<number> {
  const id = `whose-${++asked}-`;
  await send(agent, 'GET', '/health/live', { id });
  await until(() => respondents(id).size === 1);
  return Number([...respondents(id)][0]?.split(':').at(-1));
}

/**
 * Creates a user, and returns their token, and a function that sets their first name over a
 * connection. Changes that users make to themselves are limited.
 */
async function changeable(): Promise<{ token: string; rename: (agent: Agent, name: string) => Promise<Answer> }> {
  const administrator = await login();
  const name = `renamed-${logins}`;
  const user = { user_type: 'system', name, email: `${name}@example.com`, password, must_change_password: false };
  const { body } = await send(agents[0], 'POST', '/user/create', { token: administrator, body: user });
  const rename = (agent: Agent, first_name: string) =>
    send(agent, 'PATCH', `/user/${body.user_id}`, { token: administrator, body: { first_name } });
  return { token: await login(agents[0], name), rename };
}

/** The tests use the same workers in order. The last one kills them. */
describe('an instance with two workers', () => {
  let metricsPort: number;
  beforeAll(async () => {
    metricsPort = await freePort();
    service = await startServiceProcess({ ...environment(), METRICS_PORT: String(metricsPort) });
    await until(() => workers().length === 2);
    agents = await connections();
  });
  // A failed test may have left a process stopped.
  afterEach(() => {
    for (const pid of [service.pid, ...workers()]) if (isAlive(pid)) process.kill(pid, 'SIGCONT');
  });
  afterAll(async () => {
    await service.kill();
    opened.forEach((agent) => agent.destroy());
  });

  it('merges the metrics of all workers, on either port', async () => {
    for (let index = 0; index < 10; index++) await send(agents[index % 2], 'GET', '/health/live');
    const scrapes = [
      await fetch(`http://127.0.0.1:${metricsPort}/metrics`),
      await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } }),
    ];
    for (const scrape of scrapes) {
      const text = await scrape.text();
      // Two connections sent one request each to begin with.
      expect(text).toMatch(/_count\{[^}]*route="\/health\/live"[^}]*\} 12$/m);
      expect(text).toMatch(/^carrier_identity_build_info\{.*\} 1$/m);
    }
  });

  it('leaves signals to the primary process', async () => {
    for (const pid of workers()) for (const signal of ['SIGTERM', 'SIGINT']) process.kill(pid, signal);
    await connections();
    expect(workers().every((pid) => isAlive(pid))).toBe(true);
  });

  it('shows changes and ended sessions of one worker at the other worker (S16)', async () => {
    const { token, rename } = await changeable();
    for (let round = 0; round < rounds; round++) {
      const [changing, reading] = round % 2 === 0 ? agents : [agents[1], agents[0]];
      await send(reading, 'GET', '/user', { token, id: `read-${round}` });
      expect((await rename(changing, `Name ${round}`)).status).toBe(200);
      const read = async () => (await send(reading, 'GET', '/user', { token })).body.first_name;
      await until(async () => (await read()) === `Name ${round}`);
    }
    await until(() => respondents('read-').size === 2);
    for (const agent of agents) {
      const ended = await login();
      for (const each of agents) expect((await send(each, 'GET', '/user', { token: ended })).status).toBe(200);
      expect((await send(agent, 'POST', '/auth/logout', { token: ended })).status).toBe(204);
      for (const each of agents)
        await until(async () => (await send(each, 'GET', '/user', { token: ended })).status === 401);
    }
  });

  it('reads the database after it hung for longer than the lease of its caches (S16)', async () => {
    const { token, rename } = await changeable();
    const [changing, reading] = agents;
    const other = await workerOf(reading);
    for (let round = 0; round < 3; round++) {
      await send(reading, 'GET', '/user', { token });
      process.kill(other, 'SIGSTOP');
      expect((await rename(changing, `Name ${round}`)).status).toBe(200);
      await delay(leaseMs);
      const read = send(reading, 'GET', '/user', { token });
      process.kill(other, 'SIGCONT');
      expect((await read).body.first_name).toBe(`Name ${round}`);
    }
  });

  it('counts limits per address for all workers, and per worker while the primary process hangs (L6)', async () => {
    const attempt = (index: number, address = '203.0.113.5') =>
      send(agents[index % 2], 'POST', '/auth/login', { body: { login: `unknown-${index}`, password }, address });
    const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => attempt(index)));
    expect(answers.filter(({ code }) => code === 'auth.invalid_credentials')).toHaveLength(20);
    expect(answers.filter(({ code }) => code === 'auth.too_many_attempts')).toHaveLength(40);
    process.kill(service.pid, 'SIGSTOP');
    try {
      expect((await attempt(60)).code).toBe('auth.too_many_attempts');
      expect((await attempt(60, '203.0.113.6')).code).toBe('auth.invalid_credentials');
    } finally {
      process.kill(service.pid, 'SIGCONT');
    }
    await until(async () => (await attempt(61)).code === 'auth.too_many_attempts');
  });

  it('replaces killed workers, which handle requests and run jobs again (F14)', async () => {
    const token = await login();
    const [designated, other] = workers();
    const create = (name: string) =>
      send(undefined, 'POST', '/user/create', {
        token,
        body: { user_type: 'carrier', name, email: `${name}@example.com`, carrier_id: 'c1' },
      });
    for (const [position, name] of ['ada', 'grace'].entries()) {
      await killWorker(position);
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => send(undefined, 'GET', '/user', { token, id: name })),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect((await create(name)).status).toBe(201);
      await mailbox.take(`${name}@example.com`);
      // The workers share new connections, but one of them may get many in a row.
      await until(async () => {
        await send(undefined, 'GET', '/user', { token, id: name });
        return respondents(name).size === 2;
      });
    }
    expect([designated, other].filter((pid) => isAlive(pid!))).toEqual([]);
    expect(service.output()).toContain('worker 1 ended and is replaced in 1000 ms: signal SIGKILL');
    expect(await service.stop()).toBe(0);
  });
});

it('replaces a worker that ends while another one starts', async () => {
  service = await startServiceProcess({ ...environment(), WORKERS: '2' });
  process.kill(workers()[0]!, 'SIGKILL');
  await until(() => workers().length === 3);
  await until(() => workers().filter((pid) => isAlive(pid)).length === 2);
  expect(await service.stop()).toBe(0);
});

it('ends with an explanation when the port of the workers is in use', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const end = await runBuilt('src/main.js', { ...environment(), PORT: String(port), LOG_LEVEL: 'silent' });
  taken.close();
  expect([end.code, end.stdout]).toEqual([1, '']);
  expect(end.stderr).toMatch(/^The service cannot listen on HOST and PORT: .*EADDRINUSE.*\n$/);
});
