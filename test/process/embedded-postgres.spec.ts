import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, stat, truncate, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type Account,
  isAlive,
  listProcesses,
  modeOf,
  ORDINARY,
  PLATFORM_PACKAGE,
  query,
  Sandbox,
  serverProcesses,
} from '../support/process/embedded-postgres-sandbox';
import { until } from '../support/until';

const isRoot = process.getuid?.() === 0;
const IN_USE = { name: 'StartFault', error: expect.stringContaining('Another process uses this DATA_DIR') as string };
/** As root, the service runs as root (its server as postgres or nobody) and as a user. */
const accounts: [string, Account][] = [...(isRoot ? [['root', {}] as [string, Account]] : []), ['a user', ORDINARY]];

const fault = (...parts: string[]) => ({
  name: 'StartFault',
  error: expect.stringMatching(new RegExp(`${parts.join('.*')}.*DATABASE_URL`)) as string,
});
const asSuperuser = (url: string) => url.replace('//carrier_identity:', '//postgres:');

describe('the embedded PostgreSQL', () => {
  let sandbox: Sandbox;
  let project: string;
  beforeAll(async () => {
    sandbox = await Sandbox.make();
    project = await sandbox.makeProject('link');
  });
  afterEach(() => sandbox.endProcesses());
  afterAll(() => sandbox.remove());

  /** Returns a path in a new directory of an account. */
  const newDataDir = async (account: Account) => join(await sandbox.makeDirectory(account), '.data');

  describe.each(accounts)('of a service that runs as %s', (_name, account) => {
    const makeOwner = () => sandbox.makeOwner(project, account);
    /** Shared by the tests, in order. */
    let dataDir: string;
    beforeAll(async () => {
      dataDir = await newDataDir(account);
    });

    it('creates a cluster that only the password opens, hides it, and keeps the data over a restart', async () => {
      const settings = { max_connections: '33', cluster_name: "it's a $(test)" };
      const first = makeOwner();
      const seen: string[] = [];
      const watch = setInterval(() => seen.push(...listProcesses('axeww')), 50);
      const { directory, url } = await first.start(dataDir, { settings });
      clearInterval(watch);
      expect(directory).toBe(join(dataDir, 'postgres'));
      expect(url).toMatch(/^postgres:\/\/carrier_identity:[0-9a-f]{48}@127\.0\.0\.1:\d+\/carrier_identity$/);
      const wrong = query(url.replace(/:[0-9a-f]{48}@/, ':wrong@'), 'select 1');
      await expect(wrong).rejects.toThrow('password authentication failed');
      const facts = `select current_user as name, current_setting('is_superuser') super, lower('ÄИ') low, 'a' > 'B' c`;
      expect(await query(url, facts)).toEqual([{ name: 'carrier_identity', super: 'off', low: 'äи', c: true }]);
      const fixed = { listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'on' };
      for (const [name, value] of Object.entries({ ...fixed, server_encoding: 'UTF8', ...settings }))
        expect(await query(asSuperuser(url), `select current_setting('${name}') ${name}`)).toEqual([{ [name]: value }]);

      const { password } = new URL(url);
      const log = readFileSync(join(directory, 'postgres.log'), 'utf8');
      expect(seen.some((line) => line.includes('initdb'))).toBe(true);
      expect([...seen, ...listProcesses('axeww'), log].filter((line) => line.includes(password))).toEqual([]);
      const files = [dataDir, directory, join(directory, 'carrier_identity.password'), join(directory, 'postgres.log')];
      // Other accounts may only pass through DATA_DIR, as the account of root's server must.
      expect(await Promise.all(files.map(modeOf))).toEqual([0o711, 0o700, 0o600, 0o600]);
      expect(readdirSync(dataDir)).toEqual(['postgres']);

      await query(url, 'create table kept as select 1 as one');
      const processes = serverProcesses(directory);
      expect(processes.length).toBeGreaterThan(3);
      await first.stop();
      await until(() => !processes.some(isAlive));
      const again = await makeOwner().start(dataDir);
      expect(new URL(again.url).password).toBe(password);
      expect(await query(again.url, 'select one from kept')).toEqual([{ one: 1 }]);
    });

    it('adopts the server of a killed process, and recovers after both were killed', async () => {
      const first = makeOwner();
      const { url, directory } = await first.start(dataDir);
      await query(url, 'create table adopted as select 1 as one');
      await first.kill();
      const second = makeOwner();
      expect(await second.start(dataDir)).toMatchObject({ url });
      expect(await query(url, 'select one from adopted')).toEqual([{ one: 1 }]);
      process.kill(serverProcesses(directory)[0]!, 'SIGKILL');
      await second.kill();
      const third = makeOwner();
      const recovered = await third.start(dataDir);
      expect(await query(recovered.url, 'select one from adopted')).toEqual([{ one: 1 }]);
      const processes = serverProcesses(directory);
      await third.stop();
      await until(() => !processes.some(isAlive));
      expect(await third.find(dataDir)).toBeNull();
    });
  });

  describe('of an ordinary user', () => {
    const makeOwner = (options = {}) => sandbox.makeOwner(project, ORDINARY, options);
    let fresh: string;
    beforeEach(async () => {
      fresh = await newDataDir(ORDINARY);
    });

    it('lets one of two simultaneous first starts win, and stay alone even after its lock was lost', async () => {
      const owners = [makeOwner(), makeOwner()];
      const answers = await Promise.all(owners.map((owner) => owner.tryStart(fresh)));
      const won = answers.findIndex(({ error }) => !error);
      const [winner, other] = [owners[won]!, owners[1 - won]!];
      const { url } = answers[won]!;
      expect(answers[1 - won]).toEqual(IN_USE);
      // Commands find the URL of the running server.
      expect([await other.find(fresh), await other.find(await newDataDir(ORDINARY))]).toEqual([url, null]);

      const holder = "select pid from pg_locks where locktype = 'advisory' and granted";
      const [lost] = await query(asSuperuser(url), `select pid, pg_terminate_backend(pid) from (${holder}) held`);
      await until(async () => (await query(asSuperuser(url), holder)).some(({ pid }) => pid !== lost?.pid));
      expect(await other.tryStart(fresh)).toEqual(IN_USE);
      expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
      await winner.stop();
      await other.start(fresh);
      expect(readdirSync(fresh)).toEqual(['postgres']);
    });

    it('starts afresh after the creation of a cluster was interrupted or killed', async () => {
      const creates = () =>
        existsSync(fresh) &&
        readdirSync(fresh).some((entry) => existsSync(join(fresh, entry, 'data/base/1/PG_VERSION')));
      const interrupted = makeOwner({ detached: true });
      const answer = interrupted.tryStart(fresh);
      await until(creates);
      process.kill(-interrupted.child.pid!, 'SIGINT');
      expect(await answer).toMatchObject({ name: 'StartFault' });
      expect(readdirSync(fresh)).toEqual([]);

      const killed = makeOwner({ detached: true });
      killed.tryStart(fresh).catch(() => undefined);
      await until(creates);
      process.kill(-killed.child.pid!, 'SIGKILL');
      await killed.kill();
      expect(readdirSync(fresh)).toEqual([expect.stringMatching(/^postgres\.init-/)]);

      const { url } = await makeOwner().start(fresh);
      expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
      expect(readdirSync(fresh)).toEqual(['postgres']);
    });

    it('shields the server from Ctrl-C and tries another port when one is in use', async () => {
      const first = makeOwner({ detached: true });
      const { url, directory } = await first.start(fresh, { fault: 'takenPort' });
      expect(readFileSync(join(directory, 'postgres.log'), 'utf8')).toContain('Address already in use');
      process.kill(-first.child.pid!, 'SIGINT');
      await until(async () => (await first.countInterrupts()) === 1);
      expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
    });

    it('reports at the first attempt why PostgreSQL refuses to start, and empties a log that is too long', async () => {
      const first = makeOwner();
      await first.start(fresh);
      await first.stop();
      const refused = await first.tryStart(fresh, { settings: { shared_buffers: 'plenty' } });
      expect(refused).toMatchObject(fault('shared_buffers'));
      expect(refused.error).not.toContain('gave up');
      const log = join(fresh, 'postgres/postgres.log');
      await truncate(log, 11 * 1024 * 1024);
      await first.start(fresh);
      expect((await stat(log)).size).toBeLessThan(10_000);
    });

    it('points to DATABASE_URL without the platform package, or with files that it cannot read', async () => {
      const without = await sandbox.makeOwner(await sandbox.makeProject('none'), ORDINARY).tryStart(fresh);
      expect(without).toMatchObject(fault(PLATFORM_PACKAGE));
      const unreadable = await sandbox.makeDirectory({});
      // A private directory of root excludes others; one without permissions excludes its owner.
      await mkdir(join(unreadable, 'postgres'), { mode: isRoot ? 0o700 : 0 });
      expect(await makeOwner().tryStart(unreadable)).toMatchObject(fault('permission denied'));
      if (!isRoot) return;
      // Only root can become a user without an entry in /etc/passwd.
      const nameless = { uid: 70_000, gid: 70_000 };
      const answer = await sandbox.makeOwner(project, nameless).tryStart(await newDataDir(nameless));
      expect(answer).toMatchObject(fault('effective user ID 70000'));
    });
  });

  describe('from a copy of the npm package', () => {
    const version = `0.0.0-test${process.pid}`;
    const places: string[] = [];
    let copied: string;
    let native: string;
    beforeAll(async () => {
      copied = await sandbox.makeProject('copy');
      native = join(copied, 'node_modules', PLATFORM_PACKAGE, 'native');
      // A separate version gives the copy in /var/lib a separate name.
      const manifest = join(native, '../package.json');
      const text = await readFile(manifest, 'utf8');
      await writeFile(manifest, text.replace(/"version": ".*?"/, `"version": "${version}"`));
    });
    afterAll(async () => {
      for (const place of places) await rm(place, { recursive: true });
    });

    it('creates the symlinks that --ignore-scripts omits, and reports when node_modules is read-only', async () => {
      const list = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as { target: string }[];
      const links = list.map(({ target }) => join(dirname(native), target));
      await Promise.all(links.map((link) => unlink(link)));
      const dataDir = await newDataDir(ORDINARY);
      await chmod(join(native, 'lib'), 0o555);
      // Root can write to read-only files, so an ordinary user has to start the server.
      expect(await sandbox.makeOwner(copied, ORDINARY).tryStart(dataDir)).toMatchObject(fault('shared libraries'));
      await chmod(join(native, 'lib'), 0o755);
      await query((await sandbox.makeOwner(copied, {}).start(dataDir)).url, 'select 1 as one');
      expect([links.length > 0, links.filter((link) => !existsSync(link))]).toEqual([true, []]);
    });

    it('works below a private directory: as root with files elsewhere, as the owner in place', async () => {
      const [parent, dataDir] = [dirname(copied), join(copied, '.data')];
      await chmod(parent, 0o700);
      const first = sandbox.makeOwner(copied, {});
      const { url, directory } = await first.start(dataDir);
      await query(url, 'create table kept as select 1 as one');
      expect(await modeOf(parent)).toBe(0o700);
      const program = readFileSync(join(directory, 'postmaster.opts'), 'utf8').split(' ')[0]!;
      await first.stop();
      if (isRoot) {
        const copy = `/var/lib/carrier-identity/postgres-${version}`;
        places.push(copy, dirname(directory));
        expect(directory).toMatch(/^\/var\/lib\/carrier-identity\/[0-9a-f]{16}\/postgres$/);
        expect(readFileSync(join(dataDir, 'postgres-is-elsewhere.txt'), 'utf8')).toContain(dirname(directory));
        expect(program).toBe(join(copy, 'bin/postgres'));
        expect(await stat(copy)).toMatchObject({ uid: 0, mode: 0o40755 });
        // An account with write access could make root start its program.
        await chmod(copy, 0o777);
        const refused = await first.tryStart(dataDir);
        await chmod(copy, 0o755);
        expect(refused.error).toContain(`${copy} must be writable for root only`);
      } else {
        expect(directory).toBe(join(dataDir, 'postgres'));
        expect(program).toContain(native);
      }
      const again = await first.start(dataDir);
      expect(again).toMatchObject({ directory });
      expect(await query(again.url, 'select one from kept')).toEqual([{ one: 1 }]);
    });
  });
});
