import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lchown, mkdtemp, open, readFile, readlink, realpath, rename, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EmbeddedPostgresError } from './postgres-binaries';
import { hasCluster, type Place, UNFINISHED_PREFIX } from './postgres-place';

/** A server process, ready or not. */
export interface Postmaster {
  pid: number;
  /** 0 until the server has written its port to the pid file */
  port: number;
}

/** Name of the file in the cluster with the password of both roles. */
export const PASSWORD_FILE = 'carrier_identity.password';

const LOG_LIMIT_BYTES = 10 * 1024 * 1024;
const STOP_TIMEOUT_MS = 60_000;

/**
 * Errors after which the next attempt may succeed: the port was just taken, another process started
 * the server, or processes of a killed server have not ended yet.
 */
const TRANSIENT_ERRORS =
  /Address already in use|lock file "postmaster.pid" already exists|pre-existing shared memory block/;

/**
 * Creates a cluster in a draft directory and renames the draft.
 * An incomplete cluster is never used. If two processes create a cluster at the same time, the
 * slower process uses the cluster of the faster. The password file is inside the cluster, so that
 * both appear together.
 */
export async function createCluster(place: Place, binaries: string): Promise<void> {
  const draft = await mkdtemp(join(place.home, UNFINISHED_PREFIX));
  const data = join(draft, 'data');
  const password = join(draft, 'password');
  try {
    await writeDurably(password, randomBytes(24).toString('hex'));
    if (place.account) for (const path of [draft, password]) await lchown(path, place.account.uid, place.account.gid);
    await initialise(place, binaries, data, password);
    await rename(password, join(data, PASSWORD_FILE));
    await rename(data, place.cluster);
  } catch (error) {
    if (!(await hasCluster(place.cluster))) throw error;
  } finally {
    await rm(draft, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  await file.writeFile(text);
  await file.sync();
  await file.close();
}

/**
 * Runs initdb with PostgreSQL's own locale, which folds case and sorts the same on every system.
 * The locale of the system only separates letters from other characters, for the trigram search:
 * under plain C it would drop all letters outside ASCII. Not every system has C.UTF-8.
 */
async function initialise(place: Place, binaries: string, data: string, passwordFile: string): Promise<void> {
  if (!place.account) assertNamedUser();
  const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
  // Set the sizes: initdb tries several, and a Ctrl-C meanwhile would make it choose small ones.
  const sizes = ['--set=max_connections=100', '--set=shared_buffers=128MB'];
  const access = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  for (const letters of ['C.UTF-8', 'en_US.UTF-8', 'C']) {
    const args = [`--pgdata=${data}`, '--no-instructions', ...access, ...locale, `--lc-ctype=${letters}`, ...sizes];
    const { code, output } = await run(place, join(binaries, 'initdb'), args);
    if (code === 0) return;
    if (!output.includes('invalid locale name'))
      throw new Error(`initdb failed (${code ?? 'killed'}): ${reasonIn(output)}`);
  }
}

/** Rejects a user id without a name, as initdb does. OpenShift assigns these ids to containers. */
function assertNamedUser(): void {
  try {
    userInfo();
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `PostgreSQL cannot create its files for user id ${process.getuid?.()}, ` +
        'which has no name on this system (no entry in /etc/passwd). ' +
        'Set DATABASE_URL to your own PostgreSQL server, or run as a user with an entry.',
      { cause },
    );
  }
}

/**
 * Starts the server on a free port. Returns the reason of a transient failure, or null if it runs.
 */
export async function launchServer(
  place: Place,
  binaries: string,
  settings: Record<string, string>,
): Promise<string | null> {
  await setAsideReusedPid(place.cluster);
  const port = await findFreePort();
  const options = Object.entries({ port: String(port), ...settings }).map(
    ([name, value]) => `-c ${quoted(`${name}=${value}`)}`,
  );
  // This process opens the log, and the server inherits it. A symlink at this path is not followed.
  const log = await open(
    join(place.home, 'postgres.log'),
    constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW,
    0o600,
  );
  try {
    if ((await log.stat()).size > LOG_LIMIT_BYTES) await log.truncate();
    const { size } = await log.stat();
    // Pass the path of the cluster in the environment: pg_ctl puts its arguments into a shell
    // command.
    const { code } = await run(place, join(binaries, 'pg_ctl'), ['start', '-w', '-t', '600', '-o', options.join(' ')], {
      log: log.fd,
    });
    if (code === 0) return null;
    const output = Buffer.alloc((await log.stat()).size - size);
    await log.read(output, 0, output.length, size);
    if (TRANSIENT_ERRORS.test(output.toString())) return reasonIn(output.toString());
    throw new Error(
      `its server does not start: ${reasonIn(output.toString())} (more in ${join(place.home, 'postgres.log')})`,
    );
  } finally {
    await log.close();
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Returns the lines that contain the reason. */
function reasonIn(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim());
  const reasons = lines.filter((line) => /FATAL|PANIC|could not|error|HINT/i.test(line));
  return (reasons.length ? reasons : lines).slice(-4).join(' | ') || 'no reason given';
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done, fail) => server.once('error', fail).listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

/** Returns the server process of a cluster, ready or not, or null. */
export async function findPostmaster(cluster: string): Promise<Postmaster | null> {
  const [pid, , , port] = (await readPidFile(cluster)).split('\n');
  return pid && (await isPostmaster(Number(pid), cluster)) ? { pid: Number(pid), port: Number(port) || 0 } : null;
}

async function readPidFile(cluster: string, name = 'postmaster.pid'): Promise<string> {
  return readFile(join(cluster, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
}

/**
 * Returns whether a process is the server of a cluster. Checks its working directory if /proc
 * exists: another program may have the process id of a killed server, especially in containers.
 */
async function isPostmaster(pid: number, cluster: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  const canTell = await readlink('/proc/self').catch(() => null);
  if (!canTell) return true;
  return (await readlink(`/proc/${pid}/cwd`).catch(() => null)) === (await realpath(cluster));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // Also for EPERM: a process of another account is not the server of this cluster.
    return false;
  }
}

/** Moves the pid file of a killed server away if another program has its process id. */
async function setAsideReusedPid(cluster: string): Promise<void> {
  const seen = await readPidFile(cluster);
  if (!seen || !isAlive(Number.parseInt(seen, 10)) || (await findPostmaster(cluster))) return;
  const [file, aside] = ['postmaster.pid', 'postmaster.pid.stale'].map((name) => join(cluster, name)) as [
    string,
    string,
  ];
  await rename(file, aside).catch(() => undefined);
  // If the content differs, another process was faster: restore the file of its server.
  if ((await readPidFile(cluster, 'postmaster.pid.stale')) !== seen) await rename(aside, file);
}

/**
 * Stops a server and waits for its end. Rolls open transactions back. Does nothing if another
 * server runs on the cluster.
 */
export async function stopServer(place: Place, binaries: string, pid: number): Promise<void> {
  if ((await findPostmaster(place.cluster))?.pid !== pid) return;
  // Detached, so that a second Ctrl-C does not interrupt the stop. `-W`, because pg_ctl would wait
  // for the next server too if one starts immediately.
  const { output } = await run(place, join(binaries, 'pg_ctl'), ['stop', '-m', 'fast', '-W'], { detached: true });
  const deadline = performance.now() + STOP_TIMEOUT_MS;
  while (await isPostmaster(pid, place.cluster)) {
    if (performance.now() > deadline) {
      throw new EmbeddedPostgresError(
        `PostgreSQL (process ${pid}) does not stop: ${reasonIn(output)}. Wait, or end it with "kill -QUIT ${pid}".`,
      );
    }
    await delay(10);
  }
}

interface RunOptions {
  /** file descriptor for the output; by default the output is returned */
  log?: number;
  detached?: boolean;
}

function run(
  place: Place,
  program: string,
  args: string[],
  { log, detached }: RunOptions = {},
): Promise<{ code: number | null; output: string }> {
  return new Promise((done, fail) => {
    const child = spawn(program, args, {
      ...place.account,
      detached,
      // The server's account may not have access to the current directory.
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', PGDATA: place.cluster },
      stdio: ['ignore', log ?? 'pipe', log ?? 'pipe'],
    });
    let output = '';
    child.stdout?.on('data', (chunk) => (output += chunk));
    child.stderr?.on('data', (chunk) => (output += chunk));
    child.on('close', (code) => done({ code, output }));
    child.on('error', (cause) => {
      const message =
        `${program} cannot be run (${cause.message}). ` +
        'It requires Linux with glibc, macOS or Windows, and a file system that allows programs. ' +
        'Otherwise set DATABASE_URL to your own PostgreSQL server.';
      fail(new EmbeddedPostgresError(message, { cause }));
    });
  });
}
