import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Browser } from 'playwright-core';
import { findEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres';
import { faultsOf } from '../support/console/accessibility';
import { openBrowser } from '../support/console/browser';
import { isAlive, killServer, serverProcesses } from '../support/process/embedded-postgres-sandbox';
import { Mailbox } from '../support/network/mailbox';
import { partsOf } from '../support/network/mail-parts';
import { until } from '../support/until';
import { password } from '../support/client';
import {
  type Ended,
  freePort,
  runBuilt,
  type ServiceProcess,
  spawnBuilt,
  whenListening,
} from '../support/process/built-program';

const linkForm = /http:\/\/localhost:\d+\/auth\/reset\/[A-Za-z0-9_-]{43}/;

/** One installation that the tests use in order: each test continues from the previous one. */
describe('the service with its embedded database', () => {
  let dataDir: string;
  let port: string;
  let browser: Browser;
  let service: ServiceProcess | null = null;
  let processes: number[] = [];

  beforeAll(async () => {
    dataDir = join(mkdtempSync(join(tmpdir(), 'carrier-identity-start-')), '.data');
    // PostgreSQL does not run as root, so its account must be able to enter the directory.
    chmodSync(dirname(dataDir), 0o755);
    port = String(await freePort());
    browser = await openBrowser();
  });

  afterAll(async () => {
    await service?.kill();
    await killServer(cluster());
    await browser.close();
    rmSync(dirname(dataDir), { recursive: true, force: true });
  });

  const cluster = () => join(dataDir, 'postgres');
  const env = (more: Record<string, string> = {}) => ({ DATA_DIR: dataDir, PORT: port, ...more });

  async function start(): Promise<ServiceProcess> {
    service = await whenListening(spawnBuilt('src/main.js', env()), port);
    processes = serverProcesses(cluster());
    expect(processes.length).toBeGreaterThan(3);
    return service;
  }

  /** Returns the link that a command printed on a separate line. */
  const linkOf = ({ stdout }: Ended) => new RegExp(`^  (${linkForm.source})$`, 'm').exec(stdout)?.[1] ?? '';

  /** Checks that no process of this server is left and that the service does not respond. */
  async function assertNoServer(): Promise<void> {
    // The server removes its pid file just before its process ends.
    expect(existsSync(join(cluster(), 'postmaster.pid'))).toBe(false);
    await until(() => !processes.some(isAlive));
    expect(await findEmbeddedPostgres(dataDir)).toBeNull();
  }

  async function setPasswordWithoutScript(link: string, secret: string): Promise<void> {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(link);
    expect(await page.getByRole('button').allInnerTexts()).toEqual(['Set the password']);
    await page.getByLabel('New password').fill(secret);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('heading', { name: 'Your password is set' }).waitFor();
    await context.close();
  }

  const send = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });

  async function logIn(login: string, secret: string): Promise<number> {
    return (await send('/auth/login', { login, password: secret })).status;
  }

  async function setPasswordByPage(link: string, secret: string): Promise<void> {
    const context = await browser.newContext();
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && faults.push(message.text()));
    page.on('pageerror', (error) => faults.push(error.message));
    await page.goto(link);
    expect(await page.title()).toBe('Set your password');
    const input = page.getByLabel('New password');
    await input.fill('too short');
    await page.locator('#feedback', { hasText: 'Too short. Missing characters: 6' }).waitFor();
    await page.getByRole('button', { name: 'Set the password' }).click();
    expect(await page.getByRole('alert').innerText()).toContain('15 characters');
    await input.fill('my administrator phrase');
    await page.locator('#feedback', { hasText: 'Must not contain your login name.' }).waitFor();
    await input.fill(secret);
    await page.locator('#feedback', { hasText: 'Long enough.' }).waitFor();
    expect(await input.getAttribute('type')).toBe('password');
    await page.getByRole('button', { name: 'Show password' }).click();
    expect(await input.getAttribute('type')).toBe('text');
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Hide password' }).click();
    expect(await input.getAttribute('type')).toBe('password');
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('heading', { name: 'Your password is set' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.goto(link);
    expect(await page.getByRole('alert').innerText()).toContain('used');
    expect(await faultsOf(page)).toEqual([]);
    // The browser logs rejected requests as failed loads. The pages cause no other message.
    expect(faults.filter((fault) => !/status of (400|404)/.test(fault))).toEqual([]);
    await context.close();
  }

  it('starts in an empty directory, and the first administrator sets a password in a browser', async () => {
    const { url, output } = await start();
    expect(output()).toContain(`"API       http://localhost:${port}"`);
    expect(output()).toContain(`"explorer  http://localhost:${port}/docs"`);
    expect(output()).toContain(`"console   http://localhost:${port}/console/"`);
    expect((await fetch(`${url}/docs`)).status).toBe(200);
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    const links = output().match(new RegExp(linkForm, 'g')) ?? [];
    expect(links).toHaveLength(1);
    // The last line that is not part of the log.
    expect(output()).toMatch(new RegExp(`\\n  ${linkForm.source}\\n(\\{.*\\n)*$`));
    for (const phase of ['creates the database in', 'prepares the database', 'starts the service'])
      expect(output()).toContain(phase);
    await service?.stop();
    expect((await start()).output()).toContain('The first administrator has no password yet. For a new link: ');
    await setPasswordByPage(links[0]!, password);
    expect(await logIn('administrator', password)).toBe(200);
    // The log contains neither the token of the link nor the password.
    const log = output()
      .split('\n')
      .filter((line) => line.startsWith('{'));
    expect(log.length).toBeGreaterThan(3);
    expect(log.join('\n')).not.toMatch(new RegExp(`${links[0]!.slice(-43)}|${password}`));
  });

  it('shows an invitation without faults on a narrow screen', async () => {
    const login = await send('/auth/login', { login: 'administrator', password });
    const { access_token } = (await login.json()) as { access_token: string };
    const long = 'a-login-name-of-the-maximum-length-of-sixty-four-characters-abcd';
    const person = { name: long, email: 'ada@example.com', user_type: 'carrier', carrier_id: long };
    const created = await send('/user/create', person, { authorization: `Bearer ${access_token}` });
    expect(created.status).toBe(201);
    const outbox = join(dataDir, 'outbox');
    const invitations = () =>
      existsSync(outbox) ? readdirSync(outbox).filter((name) => name.includes('-invitation-')) : [];
    await until(() => invitations().some((name) => readFileSync(join(outbox, name), 'utf8').includes('</html>')));
    const page = await browser.newPage();
    await page.setContent(partsOf(readFileSync(join(outbox, invitations()[0]!), 'utf8')).html);
    expect(await page.getByRole('link').allInnerTexts()).toEqual([
      'Set the password',
      `localhost:${port}/auth/reset/…`,
      `http://localhost:${port}/`,
    ]);
    expect(await faultsOf(page)).toEqual([]);
    await page.close();
  });

  it('gives an administrator without access a new link while the service runs', async () => {
    // Without the port of the service, which the command finds in DATA_DIR.
    const recovered = await runBuilt('src/cli/cli.js', { DATA_DIR: dataDir }, ['admin-recover']);
    expect([recovered.code, recovered.stderr]).toEqual([0, '']);
    expect(recovered.stdout).toContain(`The address of the service is http://localhost:${port} `);
    await setPasswordWithoutScript(linkOf(recovered), `${password} 2`);
    expect(await logIn('administrator', password)).toBe(401);
    expect(await logIn('administrator', `${password} 2`)).toBe(200);
    // A login that begins with a dash is no option after `--`.
    const unknown = await runBuilt('src/cli/cli.js', env(), ['admin-recover', '--', '-unknown']);
    expect(unknown).toEqual({ code: 1, stdout: '', stderr: 'user.not_found: User not found\n' });
  });

  it('sends a test mail from the command line', async () => {
    const [mailbox, refusing] = [new Mailbox(), new Mailbox()];
    await mailbox.start();
    await refusing.start();
    refusing.rejects = true;
    const test = (address: string, more = {}) =>
      runBuilt('src/cli/cli.js', env({ PRODUCT_NAME: 'Acme', ...more }), ['mail', 'test', address]);
    const [sent, written, wrong, refused] = await Promise.all([
      test('ada@example.com', { SMTP_URL: mailbox.url }),
      test('ada@example.com'),
      test('Ada <ada@example.com>'),
      test('ada@example.com', { SMTP_URL: refusing.url }),
    ]);
    expect([sent.code, sent.stderr]).toEqual([0, '']);
    expect(sent.stdout).toMatch(/^The mail server accepted the mail to ada@example.com: 250 /);
    expect((await mailbox.take('ada@example.com')).source).toContain('This e-mail tests the mail server.');
    expect([wrong.code, wrong.stdout, wrong.stderr]).toEqual([
      1,
      '',
      'Ada <ada@example.com> is not an e-mail address.\n',
    ]);
    await mailbox.stop();
    await refusing.stop();
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toContain('rejected by the test');
    const file = /is in (\S+\.eml)\n$/.exec(written.stdout)?.[1] ?? '';
    expect(readFileSync(file, 'utf8')).toContain('This e-mail tests the mail server.');
  });

  it('waits for the previous process of its DATA_DIR, which still finishes a request', async () => {
    const gate = join(dirname(dataDir), 'gate');
    const preload = `--require=${join(__dirname, '../support/process/gate.js')}`;
    const next = spawnBuilt('src/main.js', env({ GATE: gate, NODE_OPTIONS: preload }));
    await until(() => next.output().includes('waits for the gate'));
    const held = connect(Number(port), '127.0.0.1');
    const head = 'POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n';
    await once(held, 'connect');
    held.write(head);
    held.resume();
    const previous = service;
    await until(async () => (await send('/auth/login', {})).status === 400);
    const stopped = previous?.stop();
    await until(() => previous?.output().includes('carrier-identity stops') === true);
    writeFileSync(gate, '');
    await until(() => next.output().includes('starts the database'));
    held.write('{"a":"b"}');
    expect(await stopped).toBe(0);
    service = await whenListening(next, port);
    processes = serverProcesses(cluster());
    expect(next.output()).not.toMatch(/not queryable|Another process/);
  });

  it('stops on SIGTERM without leaving a process (F17)', async () => {
    expect(await service?.stop()).toBe(0);
    await assertNoServer();
  });

  it('gives an administrator without access a new link while the service is stopped', async () => {
    const recovered = await runBuilt('src/cli/cli.js', env(), ['admin-recover']);
    expect([recovered.code, recovered.stderr]).toEqual([0, '']);
    await assertNoServer();
    await start();
    await setPasswordWithoutScript(linkOf(recovered), `${password} 3`);
    expect(await logIn('administrator', `${password} 3`)).toBe(200);
    expect(await service?.stop('SIGINT')).toBe(0);
    await assertNoServer();
  });

  it('stops the database again when the port is in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const end = await runBuilt(
      'src/main.js',
      env({ PORT: String((taken.address() as AddressInfo).port), LOG_LEVEL: 'silent' }),
    );
    taken.close();
    expect([end.code, end.stdout]).toEqual([1, '']);
    expect(end.stderr).toMatch(/^The service cannot listen on HOST and PORT: .*EADDRINUSE.*\n$/);
    await assertNoServer();
  });

  it('leaves no process when it is stopped during the start', async () => {
    const child = spawnBuilt('src/main.js', env()).child;
    const ended = once(child, 'exit');
    // As soon as the server runs, before the service listens.
    await until(() => existsSync(join(cluster(), 'postmaster.pid')));
    child.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
    await assertNoServer();
  });

  it('lets only its owner read secrets', () => {
    expect(readFileSync(join(dataDir, 'app-secret'), 'utf8')).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(statSync(join(dataDir, 'app-secret')).mode & 0o777).toBe(0o600);
  });
});
