import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appSecret } from '../support/service';
import { freePort, runBuilt, startServiceProcess } from '../support/built-program';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { startTlsProxy } from '../support/tls-proxy';

const nowhere = 'postgres://user:not-to-be-shown@127.0.0.1:1/nowhere';
let dataDir: string;

beforeEach(() => {
  dataDir = join(mkdtempSync(join(tmpdir(), 'carrier-identity-start-')), 'data');
});

afterEach(() => rmSync(join(dataDir, '..'), { recursive: true, force: true }));

const start = (env: Record<string, string>) => runBuilt('src/main.js', { DATA_DIR: dataDir, ...env });

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

/** Only cases that need a process; src/config/config.spec.ts covers all others. */
const wrong: [Record<string, string>, string[]][] = [
  [{ PORT: 'abc' }, ['PORT']],
  [{ DATABASE_URL: nowhere }, ['APP_SECRET']],
  [{ DATABASE_URL: nowhere, APP_SECRET: 'changeme1234567890changeme1234567890' }, ['APP_SECRET']],
  [{ APP_SECRET: 'secret-not-to-be-shown' }, ['APP_SECRET']],
  [{ ADMIN_PASSWORD: 'not-to-be-shown-to-anybody' }, ['ADMIN_EMAIL']],
  [
    { PORT: 'abc', BASE_PATH: 'x', DATABASE_URL: 'x', APP_SECRET: 'secret', TRUST_PROXY: 'true', LOG_LEVEL: 'loud' },
    ['PORT', 'BASE_PATH', 'DATABASE_URL', 'APP_SECRET', 'APP_SECRET', 'TRUST_PROXY', 'LOG_LEVEL'],
  ],
];

it('ends with status 1 on a wrong environment, names every fault and touches nothing (F27)', async () => {
  for (let index = 0; index < wrong.length; index += 4) {
    const batch = wrong.slice(index, index + 4);
    const ends = await Promise.all(batch.map(([env]) => start(env)));
    expect(ends.map((end) => [end.code, namedFaults(end)])).toEqual(batch.map(([, faults]) => [1, faults]));
    expect(ends.map(({ stderr }) => stderr).join('')).not.toContain('not-to-be-shown');
  }
  expect(existsSync(dataDir)).toBe(false);
});

describe('faults that appear only during the start', () => {
  let database: TestDatabase;
  const env = () => ({ DATABASE_URL: database.url, APP_SECRET: appSecret, LOG_LEVEL: 'silent' });

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

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

  it('connects by TLS if the URL names the certificate, and otherwise says what is wrong (F28)', async () => {
    const proxy = await startTlsProxy(database.url);
    const urls = [`${proxy.url}?sslmode=verify-full`, `${database.url}?sslmode=require`];
    const ends = await Promise.all(urls.map((DATABASE_URL) => start({ ...env(), DATABASE_URL })));
    const hint = 'Check sslmode and sslrootcert in the URL (docs/operations.md, "TLS to PostgreSQL").';
    const prefix = 'The database of DATABASE_URL cannot be used: ';
    expect(ends.map(({ code, stdout, stderr }) => [code, stdout, stderr])).toEqual([
      [1, '', `${prefix}self-signed certificate. ${hint}\n`],
      [1, '', `${prefix}The server does not support SSL connections. ${hint}\n`],
    ]);
    const service = await startServiceProcess({
      ...env(),
      DATABASE_URL: `${proxy.url}?sslmode=require&sslrootcert=${encodeURIComponent(proxy.certificate)}`,
    });
    expect((await fetch(`${service.url}/health/ready`)).status).toBe(200);
    expect(service.output()).not.toContain('WARNING');
    expect(await service.stop()).toBe(0);
    await proxy.stop();
  });

  it('reads secrets from files and logs what the operator should know', async () => {
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
  });

  it('reports an APP_SECRET that differs from the first start in one sentence (F27)', async () => {
    const first = await startServiceProcess(env());
    expect(await first.stop()).toBe(0);
    const end = await start({
      ...env(),
      APP_SECRET: 'another-0123456789-abcdefghijklmnopqrs',
      PORT: String(await freePort()),
    });
    expect(end.code).toBe(1);
    expect(namedFaults(end)).toEqual(['APP_SECRET']);
  });

  it('rejects an ADMIN_PASSWORD that breaks the rules, and creates the administrator later (F27)', async () => {
    const admin = { ADMIN_EMAIL: 'ada@example.com', PORT: String(await freePort()) };
    const end = await start({ ...env(), ...admin, ADMIN_PASSWORD: 'short' });
    expect([end.code, end.stderr]).toEqual([
      1,
      expect.stringMatching(/^The first administrator cannot be created:\n {2}- ADMIN_PASSWORD: .+15.+\n$/),
    ]);
    const next = await startServiceProcess({ ...env(), ...admin });
    expect(next.output()).toMatch(/\/auth\/reset\/[A-Za-z0-9_-]{43}/);
    // Started as in the image, where npm scripts do not work.
    expect(next.output()).toContain('(for a new link: node dist/src/cli/cli.js admin-recover)');
    expect(await next.stop()).toBe(0);
  });

  it('reports a port in use in one sentence and consumes nothing (F27)', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const PORT = String((taken.address() as AddressInfo).port);
    const end = await start({ ...env(), PORT });
    expect([end.code, end.stdout]).toEqual([1, '']);
    expect(end.stderr).toMatch(
      new RegExp(`^The service cannot listen on HOST and PORT: .*EADDRINUSE.*127\\.0\\.0\\.1:${PORT}\n$`),
    );
    taken.close();
    // The start failed before the service created the link for the first administrator.
    const next = await startServiceProcess({ ...env(), PORT });
    expect(next.output()).toMatch(/\/auth\/reset\/[A-Za-z0-9_-]{43}/);
    expect(await next.stop()).toBe(0);
  });

  it('reports the port that it chose when PORT is 0', async () => {
    const service = await startServiceProcess({ ...env(), PORT: '0', PUBLIC_URL: 'http://identity.example.net' });
    const port = Number(/listens on 127\.0\.0\.1:(\d+)/.exec(service.output())?.[1]);
    expect((await fetch(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200);
    expect(await service.stop()).toBe(0);
  });
});
