import { query } from '../support/embedded-postgres-sandbox';
import { until } from '../support/until';
import { Mailbox } from '../support/mailbox';
import { adminEmail, appSecret, password } from '../support/service';
import { type ServiceProcess, startServiceProcess } from '../support/built-program';
import { TcpProxy } from '../support/tcp-proxy';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

interface Answer {
  status: number;
  ms: number;
  headers: Headers;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the assertions check it
  body: any;
}

let database: TestDatabase;
let proxy: TcpProxy;
let mailbox: Mailbox;
let service: ServiceProcess;
let token: string;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await TcpProxy.start(database.url);
  mailbox = new Mailbox();
  await mailbox.start();
  await start();
});

async function start(): Promise<void> {
  // Repeated logins must not end the session of the other requests.
  const limits = {
    LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0',
    REQUESTS_PER_ADDRESS_PER_MINUTE: '0',
    SESSIONS_PER_USER_MAX: '1000',
  };
  const admin = { ADMIN_EMAIL: adminEmail, ADMIN_PASSWORD: password };
  service = await startServiceProcess({
    DATABASE_URL: proxy.url,
    APP_SECRET: appSecret,
    SMTP_URL: mailbox.url,
    DATABASE_POOL_MAX: '8',
    // One test terminates all connections faster than the lease for commits can be renewed.
    LIVE_LOGIN_LEASE_SECONDS: '60',
    ...limits,
    ...admin,
  });
  token = (await send('POST', '/auth/login', { login: adminEmail, password })).body.access_token;
}

/** Waits until the service is ready again, and checks that it neither restarted nor failed. */
async function assertRecovers(): Promise<void> {
  await proxy.restore();
  await until(async () => (await send('GET', '/health/ready')).status === 200);
  // The process never restarted and never logged an unexpected error.
  expect(() => process.kill(service.pid, 0)).not.toThrow();
  assertNoUnexpectedError();
}

function assertNoUnexpectedError(): void {
  const lines = service.output().split('\n');
  expect(lines.filter((line) => /unhandled|service\.internal_error/.test(line))).toEqual([]);
}

afterAll(async () => {
  await service.kill();
  await mailbox.stop();
  await proxy.cut();
  await database.drop();
});

async function send(method: string, path: string, body?: object): Promise<Answer> {
  const began = performance.now();
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    ms: performance.now() - began,
    headers: response.headers,
    body: text === '' ? null : JSON.parse(text),
  };
}

let count = 0;
/** Requests for each use of the database: reads, transactions with a job, tokens, passwords. */
const requests: (() => Promise<Answer>)[] = [
  () => send('GET', '/user'),
  () => send('GET', '/user/list?q=admin'),
  () => send('POST', '/auth/check-token', {}),
  () => send('POST', '/auth/login', { login: adminEmail, password }),
  () => {
    const name = `made-${++count}`;
    return send('POST', '/user/create', { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com` });
  },
];

function assertUnavailable(answer: Answer, withinMs = 9_000): void {
  expect(answer.status).toBe(503);
  expect(answer.headers.get('content-type')).toContain('application/problem+json');
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(answer.body).toMatchObject({ status: 503, code: 'service.database_unavailable' });
  expect(JSON.stringify(answer.body)).not.toMatch(/postgres|ECONN|select|terminat/i);
  expect(answer.ms).toBeLessThan(withinMs);
}

async function assertEverythingWorks(): Promise<void> {
  const answers = await Promise.all(requests.map((request) => request()));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 201]);
  await mailbox.take(answers[4]!.body.email);
}

describe('a service whose database fails', () => {
  afterEach(assertRecovers);

  it('loses no acknowledged write while backends are terminated, and recovers (F6)', async () => {
    let on = true;
    const answers: Answer[] = [];
    const load = requests
      .flatMap((request) => [request, request])
      .map(async (request) => {
        while (on) answers.push(await request());
      });
    let terminated = 0;
    const kill = `
      select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
    try {
      for (let round = 0; round < 15; round++) {
        const before = answers.length;
        terminated += (await query(database.url, kill)).length;
        await until(() => answers.length > before + 20);
        // A login whose process dies counts as failed after 15 s. Five of them would lock the
        // account.
        await query(database.url, 'delete from login_attempts');
      }
    } finally {
      on = false;
      await Promise.all(load);
    }
    expect(terminated).toBeGreaterThan(15);
    const refused = answers.filter(({ status }) => status >= 300);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(answers.length / 2);
    // A cut login keeps its place in the queue of the account for 15 s. Later logins may give up.
    const [crowded, unavailable] = [true, false].map((is) =>
      refused.filter(({ body }) => (body.code === 'service.overloaded') === is),
    );
    for (const answer of crowded ?? []) expect([answer.status, answer.ms < 25_000]).toEqual([503, true]);
    for (const answer of unavailable ?? []) assertUnavailable(answer);

    const made = answers.filter(({ status }) => status === 201).map(({ body }) => body.email as string);
    expect(made.length).toBeGreaterThan(0);
    const stored = new Set((await query(database.url, 'select email from users')).map(({ email }) => email));
    expect(made.filter((email) => !stored.has(email))).toEqual([]);
    await assertEverythingWorks();
    for (const email of made) await mailbox.take(email, /./, 30_000);
  });

  it('responds with 503 while the database is gone, is not ready, and recovers (F4)', async () => {
    await proxy.cut();
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all([...requests.map((request) => request()), send('GET', '/health/ready')]);
      for (const answer of answers) assertUnavailable(answer);
    }
    expect(await send('GET', '/health/live')).toMatchObject({ status: 200, body: { status: 'ok' } });
    await proxy.restore();
    await until(async () => (await send('GET', '/health/ready')).status === 200);
    await assertEverythingWorks();
  });

  it('responds with 503 within seconds while the database hangs, is not ready, and recovers (F7)', async () => {
    await assertEverythingWorks();
    proxy.freeze();
    const [ready, live] = await Promise.all([send('GET', '/health/ready'), send('GET', '/health/live')]);
    assertUnavailable(ready, 8_000);
    expect(live.status).toBe(200);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => requests).flatMap((some) => some.map((request) => request())),
    );
    for (const answer of answers) assertUnavailable(answer, 20_000);
    await proxy.restore();
    await until(async () => (await send('GET', '/health/ready')).status === 200);
    await assertEverythingWorks();
  });

  it('unlocks every job after the database returns', async () => {
    const jobs = () => query(database.url, 'select locked_at, attempts from graphile_worker.jobs');
    await until(async () => (await jobs()).length === 0);
    expect(await jobs()).toEqual([]);
  });
});

it('stops in time while the database hangs (F17)', async () => {
  proxy.freeze();
  const pending = requests.map((request) => request().catch(() => null));
  const began = performance.now();
  expect(await service.stop()).not.toBeNull();
  expect(performance.now() - began).toBeLessThan(16_000);
  await Promise.all(pending);
  assertNoUnexpectedError();
  await proxy.restore();
  await start();
});

it('stops normally while the database is gone (F17)', async () => {
  await proxy.cut();
  const code = await service.stop();
  // On a slow machine, the deadline of the service ends it.
  if (code !== 0) expect(service.output()).toContain('exits: it could not stop in time');
  assertNoUnexpectedError();
});
