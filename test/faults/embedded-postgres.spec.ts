import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Account,
  isAlive,
  listProcesses,
  modeOf,
  ORDINARY,
  type Owner,
  PLATFORM_PACKAGE,
  query,
  Sandbox,
  serverProcesses,
} from '../support/embedded-postgres-sandbox';
import { until } from '../support/until';

const isRoot = process.getuid?.() === 0;
/**
 * As root, each scenario runs twice: with the service as root (its server as postgres or nobody),
 * and as an ordinary user.
 */
const accounts: [string, Account][] = isRoot ? [['root', {}]] : [];
accounts.push(['an ordinary user', ORDINARY]);

const IN_USE = {
  name: 'StartFault',
  error: expect.stringContaining('Another process uses this DATA_DIR') as string,
};

let sandbox: Sandbox;
let project: string;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  project = await sandbox.makeProject('link');
});

afterEach(() => sandbox.endProcesses());

afterAll(() => sandbox.remove());

describe.each(accounts)('as %s', (name, account) => {
  /**
   * The cluster of the tests that do not create their own. A test may find it stopped, crashed or
   * missing.
   */
  let dataDir: string;
  let fresh: string;

  const makeOwner = (options: { detached?: boolean } = {}): Owner => sandbox.makeOwner(project, account, options);

  beforeAll(async () => {
    dataDir = join(await sandbox.makeDirectory(account), '.data');
  });

  beforeEach(async () => {
    fresh = join(await sandbox.makeDirectory(account), '.data');
  });

  it('creates a cluster, keeps its data over a restart, stops cleanly and hides the password', async () => {
    const first = makeOwner();
    const seen: string[] = [];
    const watch = setInterval(() => seen.push(...listProcesses('axeww')), 20);
    const cold = await first.start(dataDir, { settings: { max_connections: '33', cluster_name: "it's a $(test)" } });
    clearInterval(watch);
    expect(cold.directory).toBe(join(dataDir, 'postgres'));
    expect(cold.url).toMatch(/^postgres:\/\/carrier_identity:[0-9a-f]{48}@127\.0\.0\.1:\d+\/carrier_identity$/);
    await query(cold.url, 'create table restarted as select 1 as one');

    const { password } = new URL(cold.url);
    const log = readFileSync(join(cold.directory, 'postgres.log'), 'utf8');
    expect(seen.some((line) => line.includes('initdb'))).toBe(true);
    expect([...seen, ...listProcesses('axeww'), log].filter((line) => line.includes(password))).toEqual([]);

    const processes = serverProcesses(cold.directory);
    expect(processes.length).toBeGreaterThan(3);
    await first.stop();
    expect(processes.filter(isAlive)).toEqual([]);

    const warm = await makeOwner().start(dataDir);
    expect(new URL(warm.url).password).toBe(password);
    expect(await query(warm.url, 'select one from restarted')).toEqual([{ one: 1 }]);
    console.info(`as ${name}: cold ${Math.round(cold.took)} ms, warm ${Math.round(warm.took)} ms`);
  });

  it('listens on 127.0.0.1 only, requires the password and protects its files', async () => {
    const { url, directory } = await makeOwner().start(dataDir, {
      settings: { max_connections: '33', cluster_name: "it's a $(test)" },
    });
    await expect(query(url.replace(/:[0-9a-f]{48}@/, ':wrong@'), 'select 1')).rejects.toThrow(
      'password authentication failed',
    );
    expect(
      await query(
        url,
        "select current_user as user, current_setting('is_superuser') super, lower('ÄИ') lower, 'a' > 'B' bytewise",
      ),
    ).toEqual([{ user: 'carrier_identity', super: 'off', lower: 'äи', bytewise: true }]);
    const settings = [
      'listen_addresses',
      'unix_socket_directories',
      'fsync',
      'max_connections',
      'cluster_name',
      'server_encoding',
    ];
    const superuser = url.replace('//carrier_identity:', '//postgres:');
    const shown = await query(
      superuser,
      settings.map((setting) => `select current_setting('${setting}') value`).join(' union all '),
    );
    expect(shown.map(({ value }) => value)).toEqual(['127.0.0.1', '', 'on', '33', "it's a $(test)", 'UTF8']);

    const files = [dataDir, directory, join(directory, 'carrier_identity.password'), join(directory, 'postgres.log')];
    // Other accounts may only pass through DATA_DIR, as the account of root's server must.
    expect(await Promise.all(files.map(modeOf))).toEqual([0o711, 0o700, 0o600, 0o600]);
    expect(readdirSync(dataDir)).toEqual(['postgres']);
  });

  it('rejects a second process, even after the lock was lost, and publishes the URL for tools', async () => {
    const { url } = await makeOwner().start(dataDir);
    const second = makeOwner();
    expect(await second.tryStart(dataDir)).toMatchObject(IN_USE);
    expect(await second.find(dataDir)).toBe(url);
    expect(await second.find(fresh)).toBeNull();

    const superuser = url.replace('//carrier_identity:', '//postgres:');
    const holder = "select pid from pg_locks where locktype = 'advisory' and granted";
    const [lost] = await query(superuser, `select pid, pg_terminate_backend(pid) from (${holder}) held`);
    await until(async () => (await query(superuser, holder)).some(({ pid }) => pid !== lost?.pid));
    expect(await second.tryStart(dataDir)).toMatchObject(IN_USE);
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('adopts the server of a killed process and stops it', async () => {
    const first = makeOwner();
    const { url, directory } = await first.start(dataDir);
    await query(url, 'create table adopted as select 1 as one');
    const processes = serverProcesses(directory);
    await first.kill();
    const second = makeOwner();
    expect(await second.start(dataDir)).toMatchObject({ url });
    expect(await query(url, 'select one from adopted')).toEqual([{ one: 1 }]);
    await second.stop();
    expect(processes.filter(isAlive)).toEqual([]);
    expect(await second.find(dataDir)).toBeNull();
  });

  it('recovers after process and server were killed', async () => {
    const first = makeOwner();
    const { url, directory } = await first.start(dataDir);
    await query(url, 'create table recovered as select 1 as one');
    process.kill(serverProcesses(directory)[0]!, 'SIGKILL');
    await first.kill();
    const next = await makeOwner().start(dataDir);
    expect(await query(next.url, 'select one from recovered')).toEqual([{ one: 1 }]);
  });

  it('lets one of two simultaneous cold starts win', async () => {
    const contenders = [makeOwner(), makeOwner()];
    const answers = await Promise.all(contenders.map((one) => one.tryStart(fresh)));
    const won = answers.findIndex(({ error }) => !error);
    expect(answers[1 - won]).toEqual(IN_USE);
    expect(await query(answers[won]!.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await contenders[won]!.stop();
    await contenders[1 - won]!.start(fresh);
    expect(readdirSync(fresh)).toEqual(['postgres']);
  });

  it('starts afresh after the creation of a cluster was interrupted or killed', async () => {
    const isInTheMiddle = () =>
      existsSync(fresh) && readdirSync(fresh).some((entry) => existsSync(join(fresh, entry, 'data/base/1/PG_VERSION')));
    const interrupted = makeOwner({ detached: true });
    const answer = interrupted.tryStart(fresh);
    await until(isInTheMiddle);
    process.kill(-interrupted.child.pid!, 'SIGINT');
    expect(await answer).toMatchObject({ name: 'StartFault' });
    expect(readdirSync(fresh)).toEqual([]);

    const killed = makeOwner({ detached: true });
    killed.tryStart(fresh).catch(() => undefined);
    await until(isInTheMiddle);
    process.kill(-killed.child.pid!, 'SIGKILL');
    await killed.kill();
    expect(readdirSync(fresh)).toEqual([expect.stringMatching(/^postgres\.init-/)]);

    const { url } = await makeOwner().start(fresh);
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(readdirSync(fresh)).toEqual(['postgres']);
  });

  it('shields the server from Ctrl-C and tries another port when one is in use', async () => {
    const first = makeOwner({ detached: true });
    const { url, directory } = await first.start(dataDir, { fault: 'takenPort' });
    expect(readFileSync(join(directory, 'postgres.log'), 'utf8')).toContain('Address already in use');
    process.kill(-first.child.pid!, 'SIGINT');
    await until(async () => (await first.countInterrupts()) === 1);
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('reports at once why PostgreSQL refuses to start, and empties a log that is too long', async () => {
    const first = makeOwner();
    await first.start(dataDir);
    await first.stop();
    const began = performance.now();
    const refused = await first.tryStart(dataDir, { settings: { shared_buffers: 'plenty' } });
    expect(refused).toMatchObject({
      name: 'StartFault',
      error: expect.stringMatching(/shared_buffers.*DATABASE_URL/),
    });
    expect(performance.now() - began).toBeLessThan(15_000);
    const log = join(dataDir, 'postgres/postgres.log');
    await truncate(log, 11 * 1024 * 1024);
    await first.start(dataDir);
    expect((await stat(log)).size).toBeLessThan(10_000);
  });

  it('points to DATABASE_URL when the platform package is not installed', async () => {
    const answer = await sandbox.makeOwner(await sandbox.makeProject('none'), account).tryStart(fresh);
    expect(answer).toMatchObject({ name: 'StartFault', error: expect.stringContaining(PLATFORM_PACKAGE) });
    expect(answer.error).toContain('DATABASE_URL');
  });
});
