import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appSecret } from '../support/in-process';
import { freePort, runBuilt, spawnBuilt, startServiceProcess } from '../support/built-program';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { startTlsProxy } from '../support/tls-proxy';

const nowhere = 'postgres://user:not-to-be-shown@127.0.0.1:1/nowhere';
let dataDir: string;

beforeEach(() => {
  dataDir = join(mkdtempSync(join(tmpdir(), 'carrier-identity-start-')), 'data');
});

afterEach(() => rmSync(join(dataDir, '..'), { recursive: true, force: true }));

/** Starts the service on a free port, because concurrent starts would share the default port. */
const start = async (env: Record<string, string>) =>
  runBuilt('src/main.js', { DATA_DIR: dataDir, PORT: String(await freePort()), ...env });

/**
 * Returns the variables that the message names, in order. Everything written must belong to the
 * message.
 */
function namedFaults({ stdout, stderr }: { stdout: string; stderr: string }): string[] {
  expect(stdout).toBe('');
  const [heading, ...faults] = stderr.trimEnd().split('\n');
  expect(heading).toBe('The configuration is invalid:');
  return faults.map((fault) => /^ {2}- ([A-Z_]+): \S.{5,}$/.exec(fault)?.[1] ?? `not understood: ${fault}`);
}

/** Only cases that need a process; src/platform/config/config.spec.ts covers all others. */
const wrong: [Record<string, string>, string[]][] = [
  [{ DATABASE_URL: nowhere }, ['APP_SECRET']],
  [{ APP_SECRET: 'secret-not-to-be-shown' }, ['APP_SECRET']],
  [{ ADMIN_PASSWORD: 'not-to-be-shown-to-anybody' }, ['ADMIN_EMAIL']],
  [
    { PORT: 'abc', BASE_PATH: 'x', DATABASE_URL: 'x', APP_SECRET: 'secret', TRUST_PROXY: 'true', LOG_LEVEL: 'loud' },
    ['PORT', 'BASE_PATH', 'DATABASE_URL', 'APP_SECRET', 'APP_SECRET', 'TRUST_PROXY', 'LOG_LEVEL'],
  ],
];

it('ends with status 1 on a wrong environment, names every fault and touches nothing (F27)', async () => {
  const ends = await Promise.all(wrong.map(([env]) => start(env)));
  expect(ends.map((end) => [end.code, namedFaults(end)])).toEqual(wrong.map(([, faults]) => [1, faults]));
  expect(ends.map(({ stderr }) => stderr).join('')).not.toContain('not-to-be-shown');
  expect(existsSync(dataDir)).toBe(false);
});

describe('faults of a first start with the embedded database', () => {
  const cluster = () => join(dataDir, 'postgres');

  it('reports a port in use before it creates a database (F27)', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const end = await start({ PORT: String((taken.address() as AddressInfo).port) });
    taken.close();
    expect([end.code, end.stdout]).toEqual([1, '']);
    expect(end.stderr).toMatch(/^The service cannot listen on HOST and PORT: .*EADDRINUSE.*\n$/);
    expect(existsSync(cluster())).toBe(false);
  });

  it('reports a DATA_DIR that is a file, below a file, or cannot be created (F27)', async () => {
    mkdirSync(dataDir);
    const file = join(dataDir, 'file');
    writeFileSync(file, '');
    const folders = [file, join(file, 'data'), '/sys/carrier-identity', '/proc/carrier-identity'];
    const ends = await Promise.all(folders.map((DATA_DIR) => start({ DATA_DIR })));
    expect(ends.map((end) => [end.code, namedFaults(end)])).toEqual(folders.map(() => [1, ['DATA_DIR']]));
  });
});

it('logs why it exits when an exception is not caught', async () => {
  const hanging = createServer().listen(0, '127.0.0.1');
  await once(hanging, 'listening');
  const crash = 'process.once("SIGUSR2", () => { throw new Error("crash of the test"); });';
  const { child, output } = spawnBuilt('src/main.js', {
    // The start waits for a database that does not respond.
    DATABASE_URL: `postgres://user:password@127.0.0.1:${(hanging.address() as AddressInfo).port}/database`,
    APP_SECRET: appSecret,
    PORT: String(await freePort()),
    NODE_OPTIONS: `--import=data:text/javascript;base64,${Buffer.from(crash).toString('base64')}`,
  });
  const [connection] = (await once(hanging, 'connection')) as [Socket];
  child.kill('SIGUSR2');
  expect((await once(child, 'close'))[0]).toBe(1);
  connection.destroy();
  hanging.close();
  expect(output()).toMatch(
    /^\{"level":"fatal",.*"error":"Error: crash of the test",.*"msg":"carrier-identity exits: uncaught exception"\}$/m,
  );
});

/** The tests use one database in order. */
describe('faults that appear only during the start', () => {
  let database: TestDatabase;
  const env = () => ({ DATABASE_URL: database.url, APP_SECRET: appSecret, LOG_LEVEL: 'silent' });

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it('reports an unreachable database, a wrong password or an unknown database in one sentence (F28)', async () => {
    const [wrongPassword, unknown] = [new URL(database.url), new URL(database.url)];
    [wrongPassword.password, unknown.pathname] = ['wrong-and-not-to-be-shown', '/no_such_database'];
    const urls = [nowhere, wrongPassword.href, unknown.href, 'postgres://user:not-to-be-shown@nowhere.invalid/x'];
    const ends = await Promise.all(urls.map((DATABASE_URL) => start({ ...env(), DATABASE_URL })));
    const reasons = [
      /ECONNREFUSED/,
      /password authentication failed/,
      /"no_such_database" does not exist/,
      /nowhere\.invalid/,
    ];
    for (const [index, { code, stdout, stderr }] of ends.entries()) {
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^The database of DATABASE_URL cannot be used: .+\n$/);
      expect(stderr).toMatch(reasons[index]!);
      expect(stderr).not.toContain('not-to-be-shown');
    }
  });

  it('says what is wrong with the TLS parameters of the URL (F28)', async () => {
    const proxy = await startTlsProxy(database.url);
    const urls = [`${proxy.url}?sslmode=verify-full`, `${database.url}?sslmode=require`];
    const ends = await Promise.all(urls.map((DATABASE_URL) => start({ ...env(), DATABASE_URL })));
    const hint = 'Check sslmode and sslrootcert in the URL (docs/operations.md, "TLS to PostgreSQL").';
    const prefix = 'The database of DATABASE_URL cannot be used: ';
    // Node 24 adds advice to the reason.
    expect(
      ends.map(({ code, stdout, stderr }) => [code, stdout, stderr.replace(/; if the root.*--use-system-ca/, '')]),
    ).toEqual([
      [1, '', `${prefix}self-signed certificate. ${hint}\n`],
      [1, '', `${prefix}The server does not support SSL connections. ${hint}\n`],
    ]);
    await proxy.stop();
  });

  it('rejects an ADMIN_PASSWORD that breaks the rules (F27)', async () => {
    const admin = { ADMIN_EMAIL: 'ada@example.com', ADMIN_PASSWORD: 'short' };
    const end = await start({ ...env(), ...admin });
    expect([end.code, end.stderr]).toEqual([
      1,
      expect.stringMatching(/^The first administrator cannot be created:\n {2}- ADMIN_PASSWORD: .+15.+\n$/),
    ]);
  });

  it('reports a port in use in one sentence (F27)', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const PORT = String((taken.address() as AddressInfo).port);
    const end = await start({ ...env(), PORT });
    expect([end.code, end.stdout]).toEqual([1, '']);
    expect(end.stderr).toMatch(
      new RegExp(`^The service cannot listen on HOST and PORT: .*EADDRINUSE.*127\\.0\\.0\\.1:${PORT}\n$`),
    );
    taken.close();
  });

  it('creates the administrator after failed starts, connects by TLS and reports its port (F27, F28)', async () => {
    const proxy = await startTlsProxy(database.url);
    const service = await startServiceProcess({
      ...env(),
      DATABASE_URL: `${proxy.url}?sslmode=require&sslrootcert=${encodeURIComponent(proxy.certificate)}`,
      ADMIN_EMAIL: 'ada@example.com',
      PORT: '0',
      PUBLIC_URL: 'http://identity.example.net',
    });
    const port = Number(/listens on 127\.0\.0\.1:(\d+)/.exec(service.output())?.[1]);
    expect((await fetch(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200);
    expect(service.output()).not.toContain('WARNING');
    // The failed starts did not create the link for the first administrator.
    expect(service.output()).toMatch(/\/auth\/reset\/[A-Za-z0-9_-]{43}/);
    // Started as in the image, where npm scripts do not work.
    expect(service.output()).toContain('For a new link: node dist/src/cli/cli.js admin-recover\n');
    expect(await service.stop()).toBe(0);
    await proxy.stop();
  });

  it('reports an APP_SECRET that differs from the first start in one sentence (F27)', async () => {
    const another = { APP_SECRET: 'another-0123456789-abcdefghijklmnopqrs' };
    const end = await start({ ...env(), ...another });
    expect(end.code).toBe(1);
    expect(namedFaults(end)).toEqual(['APP_SECRET']);
  });
});

it('reads secrets from files and logs what the operator should know', async () => {
  const database = await createTestDatabase();
  mkdirSync(dataDir);
  const fileOf = (name: string, content: string) => {
    writeFileSync(join(dataDir, name), content);
    return join(dataDir, name);
  };
  const service = await startServiceProcess({
    DATA_DIR: dataDir,
    DATABASE_URL_FILE: fileOf('database-url', `${database.url}\n`),
    APP_SECRET_FILE: fileOf('app-secret', appSecret),
    ADMIN_EMAIL: 'ada@example.com',
    ADMIN_PASSWORD_FILE: fileOf('admin-password', 'a quiet river under seven bridges\n'),
    ACCESS_TOKEN_TTL: '60',
    NODE_ENV: 'production',
    LOG_LEVEL: 'warn',
  });
  const body = JSON.stringify({ login: 'ada@example.com', password: 'a quiet river under seven bridges' });
  const headers = { 'content-type': 'application/json' };
  expect((await fetch(`${service.url}/auth/login`, { method: 'POST', headers, body })).status).toBe(200);
  expect(service.output()).toContain(
    'ACCESS_TOKEN_TTL is not a setting and has no effect: did you mean ACCESS_TOKEN_TTL_SECONDS?',
  );
  expect(service.output()).toContain('SMTP_URL is not set: no mail is sent.');
  expect(service.output()).not.toContain('APP_SECRET_FILE');
  expect(await service.stop()).toBe(0);
  await database.drop();
});
