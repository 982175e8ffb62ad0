import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ended, freePort, runBuilt } from '../support/process/built-program';
import { appSecret } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { startTlsProxy } from '../support/network/tls-proxy';

type Environment = Record<string, string>;

const hidden = 'not-to-be-shown';
const nowhere = `postgres://user:${hidden}@127.0.0.1:1/nowhere`;

/** The tests use one database in order. */
describe('the start of the service', () => {
  let directory: string;
  let dataDir: string;
  let file: string;
  let database: TestDatabase;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'carrier-identity-start-'));
    dataDir = join(directory, 'data');
    file = fileOf('file', '');
    database = await createTestDatabase();
  });
  afterAll(async () => {
    await database.drop();
    rmSync(directory, { recursive: true, force: true });
  });

  function fileOf(name: string, content: string): string {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  }

  const env = () => ({ DATABASE_URL: database.url, APP_SECRET: appSecret, LOG_LEVEL: 'silent' });
  const start = async (more: Environment): Promise<Ended> =>
    runBuilt('src/main.js', { DATA_DIR: dataDir, PORT: String(await freePort()), ...more });
  /** Checks that each start ends with status 1, and writes only its message. */
  async function expectFaults(faults: [env: Environment, message: RegExp][]): Promise<void> {
    const ends = await Promise.all(faults.map(([more]) => start(more)));
    expect(ends).toEqual(faults.map(([, text]) => ({ code: 1, stdout: '', stderr: expect.stringMatching(text) })));
    for (const { stderr } of ends) expect(stderr).not.toContain(hidden);
    expect(existsSync(dataDir)).toBe(false);
  }
  const invalid = (...names: string[]) =>
    new RegExp(`^The configuration is invalid:\n${names.map((name) => `  - ${name}: \\S.{5,}\n`).join('')}$`);

  it('ends with status 1 on wrong settings, names every fault and creates nothing (F27)', async () => {
    const many = { PORT: 'abc', BASE_PATH: 'x', DATABASE_URL: nowhere, APP_SECRET: hidden, LOG_LEVEL: 'loud' };
    const folders = [file, join(file, 'data'), '/sys/carrier-identity', '/proc/carrier-identity'];
    await expectFaults([
      [many, invalid('PORT', 'BASE_PATH', 'APP_SECRET', 'APP_SECRET', 'LOG_LEVEL')],
      [{ DATABASE_URL: nowhere }, invalid('APP_SECRET')],
      ...folders.map((DATA_DIR): [Environment, RegExp] => [{ DATA_DIR }, invalid('DATA_DIR')]),
    ]);
  });

  it('reports a port in use before it creates, or connects to, a database (F27)', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const PORT = String((taken.address() as AddressInfo).port);
    const message = new RegExp(`^The service cannot listen on HOST and PORT: .*EADDRINUSE.*127\\.0\\.0\\.1:${PORT}\n$`);
    await expectFaults([[{ ...env(), DATABASE_URL: nowhere, WORKERS: '2', PORT }, message]]);
    const first = await start({ PORT });
    taken.close();
    expect(first).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(message) });
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
    rmSync(dataDir, { recursive: true });
  });

  it('reports an unreachable or unknown database, a wrong password and TLS faults in one line (F28)', async () => {
    const [wrongPassword, unknown] = [new URL(database.url), new URL(database.url)];
    [wrongPassword.password, unknown.pathname] = [hidden, '/no_such_database'];
    const proxy = await startTlsProxy(database.url);
    const hint = 'Check sslmode and sslrootcert in the URL \\(docs/database\\.md, "TLS to PostgreSQL"\\)\\.';
    const faults: [url: string, reason: string][] = [
      [nowhere, 'ECONNREFUSED'],
      [wrongPassword.href, 'password authentication failed'],
      [unknown.href, '"no_such_database" does not exist'],
      [`postgres://user:${hidden}@nowhere.invalid/x`, 'nowhere\\.invalid'],
      [`${proxy.url}?sslmode=verify-full`, `self-signed certificate.*\\. ${hint}`],
      [`${database.url}?sslmode=require`, `The server does not support SSL connections\\. ${hint}`],
    ];
    await expectFaults(
      faults.map(([DATABASE_URL, reason]) => [
        { ...env(), DATABASE_URL },
        new RegExp(`^The database of DATABASE_URL cannot be used: .*${reason}.*\n$`),
      ]),
    );
    await proxy.stop();
  });

  it('rejects an ADMIN_PASSWORD that breaks the rules, also from a file (F27)', async () => {
    const ADMIN_PASSWORD_FILE = fileOf('admin-password', 'short\n');
    await expectFaults([
      [
        { ...env(), ADMIN_EMAIL: 'ada@example.com', ADMIN_PASSWORD_FILE },
        /^The first administrator cannot be created:\n {2}- ADMIN_PASSWORD: .+15.+\n$/,
      ],
    ]);
  });

  it('creates the administrator after failed starts, uses TLS, and logs warnings and a crash (F27, F28)', async () => {
    const proxy = await startTlsProxy(database.url);
    const url = `${proxy.url}?sslmode=require&sslrootcert=${encodeURIComponent(proxy.certificate)}`;
    const crash = 'process.once("SIGUSR2", () => { throw new Error("crash of the test"); });';
    const service = await ServiceProcess.start({
      DATABASE_URL_FILE: fileOf('database-url', `${url}\n`),
      APP_SECRET_FILE: fileOf('app-secret', appSecret),
      ADMIN_EMAIL: 'ada@example.com',
      ACCESS_TOKEN_TTL: '60',
      NODE_ENV: 'production',
      NODE_OPTIONS: `--import=data:text/javascript;base64,${Buffer.from(crash).toString('base64')}`,
      LOG_LEVEL: 'warn',
    });
    process.kill(service.pid, 'SIGUSR2');
    expect(await service.exit).toBe(1);
    await proxy.stop();
    // The failed starts did not create the link for the first administrator.
    expect(service.output).toMatch(/\/auth\/reset\/[A-Za-z0-9_-]{43}/);
    // The command is that of the image, where npm scripts do not work.
    expect(service.output).toContain('For a new link: node dist/src/cli/cli.js admin-recover\n');
    const hint = 'ACCESS_TOKEN_TTL is not a setting and has no effect: did you mean ACCESS_TOKEN_TTL_SECONDS?';
    expect(service.output).toContain(hint);
    expect(service.output).toContain('SMTP_URL is not set: no mail is sent.');
    expect(service.output).not.toMatch(/APP_SECRET_FILE|WARNING/);
    const last = '"error":"Error: crash of the test",.*"msg":"carrier-identity exits: uncaught exception"';
    expect(service.output).toMatch(new RegExp(`^\\{"level":"fatal",.*${last}\\}$`, 'm'));
  });
});
