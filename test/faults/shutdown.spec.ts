import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Client } from 'pg';
import { query } from '../support/embedded-postgres-sandbox';
import { until } from '../support/until';
import { Mailbox } from '../support/mailbox';
import { appSecret, password } from '../support/in-process';
import { type ServiceProcess, startServiceProcess } from '../support/built-program';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { workerPids } from '../support/worker-pids';

interface Answered {
  status: number;
  connection: string;
  body: string;
}

const inFlight = 10;
/** `npm run test:shutdown` repeats the shutdown under load 20 times. */
const shutdowns = Number(process.env['SHUTDOWNS'] ?? 1);
let database: TestDatabase;
let sql: Client;
let mailbox: Mailbox;
let service: ServiceProcess;
let token: string;
let agent: Agent;

beforeEach(async () => {
  database = await createTestDatabase();
  mailbox = new Mailbox();
  await mailbox.start();
  sql = new Client({ connectionString: database.url });
  await sql.connect();
  agent = new Agent({ keepAlive: true });
});

afterEach(async () => {
  await service.kill();
  agent.destroy();
  await mailbox.stop();
  await sql.end();
  await database.drop();
});

async function start(env: Record<string, string> = {}): Promise<void> {
  const admin = { ADMIN_EMAIL: 'admin@example.com', ADMIN_PASSWORD: password };
  service = await startServiceProcess({
    DATABASE_URL: database.url,
    // Connections are not distributed evenly: enough for all requests at one of two workers.
    DATABASE_POOL_MAX: '60',
    APP_SECRET: appSecret,
    SMTP_URL: mailbox.url,
    ...admin,
    ...env,
  });
  const answer = await send('POST', '/auth/login', { login: 'administrator', password });
  token = (JSON.parse(answer.body) as { access_token: string }).access_token;
}

function open(method: string, path: string, body?: object): ClientRequest {
  const headers = {
    'content-type': 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const call = request(`${service.url}${path}`, {
    method,
    agent,
    headers: body === undefined ? { authorization: `Bearer ${token}` } : headers,
  });
  call.end(body === undefined ? undefined : JSON.stringify(body));
  return call;
}

async function send(method: string, path: string, body?: object): Promise<Answered> {
  const [response] = (await once(open(method, path, body), 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode ?? 0, connection: response.headers.connection ?? '', body: text };
}

/** Starts changes of users, each blocked by a row lock until `sql` commits. */
async function holdChanges(): Promise<Promise<Answered>[]> {
  await sql.query(`
    insert into users (user_id, user_type, name, email, carrier_id, status)
    select uuid_v7(), 'carrier', 'held' || n, 'held' || n || '@example.com', 'c1', 'active'
    from generate_series(1, ${inFlight}) n`);
  await sql.query('begin');
  const { rows } = await sql.query<{ user_id: string }>("select user_id from users where name like 'held%' for update");
  const changes = rows.map(({ user_id }) => send('PATCH', `/user/${user_id}`, { first_name: 'Changed' }));
  // Another connection, because a transaction sees the activity as of its first query.
  const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await until(async () => (await query(database.url, waiting)).length === inFlight);
  return changes;
}

async function openSockets(count: number, text: string): Promise<Socket[]> {
  const port = Number(new URL(service.url).port);
  const sockets = await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      await once(socket, 'connect');
      if (text !== '') await new Promise((answered) => socket.once('data', answered).write(text));
      return socket;
    }),
  );
  return sockets;
}

async function refusesConnections(): Promise<boolean> {
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(false)).once('error', () => resolve(true));
  }).finally(() => socket.destroy()) as Promise<boolean>;
}

/** Clients that send requests over kept connections until the service refuses new connections. */
interface Load {
  /** statuses of the responses */
  answers: number[];
  /** errors of requests, except for refused connections while the service stops */
  cut: string[];
  stopping: boolean;
  ended: Promise<unknown>;
}

function startLoad(clients: number): Load {
  const load: Load = { answers: [], cut: [], stopping: false, ended: Promise.resolve() };
  const work = async () => {
    for (;;) {
      try {
        load.answers.push((await send('GET', '/user')).status);
      } catch (error) {
        const isRefused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
        if (!load.stopping || !isRefused) load.cut.push(String(error));
        if (load.stopping) return;
      }
    }
  };
  load.ended = Promise.all(Array.from({ length: clients }, work));
  return load;
}

async function timed<T>(work: Promise<T>): Promise<{ result: T; ms: number }> {
  const began = performance.now();
  return { result: await work, ms: performance.now() - began };
}

describe.each(Array.from({ length: shutdowns }, (_, index) => index + 1))('shutdown %i under load', () => {
  it.each([
    ['SIGINT', '1'],
    ['SIGTERM', '2'],
  ] as const)(
    'drops no request, closes idle connections and ignores a second signal: %s, %s workers (F17)',
    async (signal, WORKERS) => {
      await start({ WORKERS });
      await until(() => workerPids(service.output()).length === Number(WORKERS));
      const idle = await openSockets(100, 'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
      const silent = await openSockets(100, '');
      const closed = Promise.all(
        [...idle, ...silent].map((socket) => new Promise((done) => socket.once('close', done))),
      );
      // Few clients: the changes wait for their lock at most five seconds, also on slow machines.
      const load = startLoad(16);
      await until(() => load.answers.length > 160);
      const changes = await holdChanges();
      load.stopping = true;
      const ended = timed(service.stop(signal));
      await until(refusesConnections);
      await Promise.all([closed, load.ended]);
      process.kill(service.pid, signal);
      process.kill(service.pid, signal === 'SIGINT' ? 'SIGTERM' : 'SIGINT');
      await sql.query('commit');
      const answers = await Promise.all(changes);
      expect(answers.map(({ status }) => status)).toEqual(Array(inFlight).fill(200));
      // Kept alive, these connections would hold up the end.
      expect(new Set(answers.map(({ connection }) => connection))).toEqual(new Set(['close']));
      const { result, ms } = await ended;
      expect(result).toBe(0);
      expect(ms).toBeLessThan(10_000);
      expect((await sql.query("select from users where first_name = 'Changed'")).rowCount).toBe(inFlight);
      expect(load.cut).toEqual([]);
      expect(new Set(load.answers)).toEqual(new Set([200]));
      // The processed requests, according to the log of the service.
      expect(service.output().match(/"route":"\/user"/g)).toHaveLength(load.answers.length);
      expect(service.output()).not.toMatch(/"level":"(error|fatal)"|unhandled/);
    },
  );
});

it('handles requests until SHUTDOWN_DELAY_SECONDS are over, then disconnects unfinished requests (F17)', async () => {
  await start({ SHUTDOWN_DELAY_SECONDS: '2' });
  const [slow, headers] = (await openSockets(2, '')) as [Socket, Socket];
  slow.write(
    'POST /auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{',
  );
  headers.write('GET /health/live HTTP/1.1\r\nHost');
  const ended = timed(service.stop());
  await until(async () => (await send('GET', '/health/ready')).status === 503);
  const ready = await send('GET', '/health/ready');
  expect([ready.connection, (JSON.parse(ready.body) as { code: string }).code]).toEqual(['close', 'service.stopping']);
  expect(await send('HEAD', '/health/ready')).toEqual({ status: 503, connection: 'close', body: '' });
  for (const path of ['/health/live', '/user'])
    expect(await send('GET', path)).toMatchObject({ status: 200, connection: 'close' });
  const { result, ms } = await ended;
  expect(result).toBe(0);
  expect(ms).toBeGreaterThanOrEqual(2_000);
  expect(ms).toBeLessThan(15_000);
});

it('returns a mail to the queue when the mail server hangs (F10, F17)', async () => {
  const hanging = createServer().listen(0, '127.0.0.1');
  await once(hanging, 'listening');
  const reached = once(hanging, 'connection');
  await start({ SMTP_URL: `smtp://127.0.0.1:${(hanging.address() as AddressInfo).port}` });
  const body = { user_type: 'carrier', name: 'ada', email: 'ada@example.com', carrier_id: 'c1' };
  expect((await send('POST', '/user/create', body)).status).toBe(201);
  await reached;
  const { result, ms } = await timed(service.stop());
  hanging.close();
  expect(result).toBe(0);
  expect(ms).toBeLessThan(10_000);
  const { rows } = await sql.query('select locked_at, attempts from graphile_worker.jobs');
  expect(rows).toEqual([{ locked_at: null, attempts: 1 }]);
});
