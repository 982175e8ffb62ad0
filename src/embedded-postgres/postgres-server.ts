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
  /** 0 until the server has written it down. */
  port: number;
}

/** File in the cluster with the password of both roles. */
export const PASSWORD_FILE = 'carrier_identity.password';

const LOG_LIMIT_BYTES = 10 * 1024 * 1024;
const STOP_PATIENCE_MS = 60_000;

/**
 * What PostgreSQL says when the next attempt may succeed: port just taken, another start was
 * faster, processes of a killed server still going away.
 */
const PASSING_TROUBLE =
  /Address already in use|lock file "postmaster.pid" already exists|pre-existing shared memory block/;

/**
 * Makes the cluster in a directory beside its place and renames it, so that one killed halfway is
 * never taken for a cluster, and of two processes that do this at once one wins and the other uses
 * the winner's. The password lies inside for the same reason: cluster and password come together.
 */
export async function createCluster(place: Place, binaries: string): Promise<void> {
  const workshop = await mkdtemp(join(place.home, UNFINISHED_PREFIX));
  const data = join(workshop, 'data');
  const password = join(workshop, 'password');
  try {
    await writeDurably(password, randomBytes(24).toString('hex'));
    if (place.account)
      for (const path of [workshop, password]) await lchown(path, place.account.uid, place.account.gid);
    await initialise(place, binaries, data, password);
    await rename(password, join(data, PASSWORD_FILE));
    await rename(data, place.cluster);
  } catch (error) {
    if (!(await hasCluster(place.cluster))) throw error;
  } finally {
    await rm(workshop, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  await file.writeFile(text);
  await file.sync();
  await file.close();
}

/**
 * Case folding and order are PostgreSQL's own (the same on every system); the system's locale only
 * tells letters from signs. That is what trigram search looks at: under plain C it drops every
 * letter outside ASCII. C.UTF-8 is not everywhere.
 */
async function initialise(place: Place, binaries: string, data: string, passwordFile: string): Promise<void> {
  if (!place.account) assertNamedUser();
  const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
  // A Ctrl-C at the moment when initdb tries out sizes would make it settle for small ones and go
  // on.
  const sizes = ['--set=max_connections=100', '--set=shared_buffers=128MB'];
  const access = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  for (const letters of ['C.UTF-8', 'en_US.UTF-8', 'C']) {
    const args = [`--pgdata=${data}`, '--no-instructions', ...access, ...locale, `--lc-ctype=${letters}`, ...sizes];
    const { code, output } = await run(place, join(binaries, 'initdb'), args);
    if (code === 0) return;
    if (!output.includes('invalid locale name'))
      throw new Error(`initdb failed (${code ?? 'killed'}): ${complaint(output)}`);
  }
}

/** initdb refuses to work for a bare number. OpenShift runs containers like that. */
function assertNamedUser(): void {
  try {
    userInfo();
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `PostgreSQL cannot create its files for user id ${process.getuid?.()}, which has no name on this system (no entry in /etc/passwd). ` +
        'Set DATABASE_URL to a PostgreSQL server of yours, or run as a user with an entry.',
      { cause },
    );
  }
}

/**
 * Starts the server on a free port. Returns what stands in the way for the moment; null: it runs.
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
  // Root opens the log in its own directory; the server only inherits it. A symlink put there is
  // not followed.
  const log = await open(
    join(place.home, 'postgres.log'),
    constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW,
    0o600,
  );
  try {
    if ((await log.stat()).size > LOG_LIMIT_BYTES) await log.truncate();
    const { size } = await log.stat();
    // The cluster's path is in the environment, not here: pg_ctl puts what it gets into a shell
    // command.
    const { code } = await run(place, join(binaries, 'pg_ctl'), ['start', '-w', '-t', '600', '-o', options.join(' ')], {
      log: log.fd,
    });
    if (code === 0) return null;
    const output = Buffer.alloc((await log.stat()).size - size);
    await log.read(output, 0, output.length, size);
    if (PASSING_TROUBLE.test(output.toString())) return complaint(output.toString());
    throw new Error(
      `its server does not start: ${complaint(output.toString())} (more in ${join(place.home, 'postgres.log')})`,
    );
  } finally {
    await log.close();
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The lines that say why. */
function complaint(output: string): string {
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

/** The server that runs on this cluster, ready or not. */
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
 * The number of a killed server may by now be another program's (usual in containers), hence the
 * look at what it works on, where /proc tells.
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
    // Also EPERM: a server of ours runs under our account.
    return false;
  }
}

/**
 * PostgreSQL itself gets past the file of a killed server, unless the number in it is in use again.
 */
async function setAsideReusedPid(cluster: string): Promise<void> {
  const seen = await readPidFile(cluster);
  if (!seen || !isAlive(Number.parseInt(seen, 10)) || (await findPostmaster(cluster))) return;
  const [file, aside] = ['postmaster.pid', 'postmaster.pid.stale'].map((name) => join(cluster, name)) as [
    string,
    string,
  ];
  await rename(file, aside).catch(() => undefined);
  // Another start was faster, and this is its server's.
  if ((await readPidFile(cluster, 'postmaster.pid.stale')) !== seen) await rename(aside, file);
}

/**
 * Stops the server gently (open transactions are rolled back) and waits; nothing happens if another
 * server has taken its place.
 */
export async function stopServer(place: Place, binaries: string, pid: number): Promise<void> {
  if ((await findPostmaster(place.cluster))?.pid !== pid) return;
  // Detached: a second Ctrl-C must not stop the stopping. The waiting is ours: pg_ctl would wait
  // for the next server if one starts at once.
  const { output } = await run(place, join(binaries, 'pg_ctl'), ['stop', '-m', 'fast', '-W'], { detached: true });
  const deadline = performance.now() + STOP_PATIENCE_MS;
  while (await isPostmaster(pid, place.cluster)) {
    if (performance.now() > deadline) {
      throw new EmbeddedPostgresError(
        `PostgreSQL (process ${pid}) does not stop: ${complaint(output)}. Wait, or end it with "kill -QUIT ${pid}".`,
      );
    }
    await delay(10);
  }
}

interface RunOptions {
  /** Descriptor that takes the output; without it, the output is returned. */
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
      // The server's account may not be able to look at ours.
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', PGDATA: place.cluster },
      stdio: ['ignore', log ?? 'pipe', log ?? 'pipe'],
    });
    let output = '';
    child.stdout?.on('data', (chunk) => (output += chunk));
    child.stderr?.on('data', (chunk) => (output += chunk));
    child.on('close', (code) => done({ code, output }));
    child.on('error', (cause) => {
      const hint = 'These binaries need Linux with glibc, macOS or Windows, and a file system that allows programs';
      fail(
        new EmbeddedPostgresError(
          `${program} cannot be run (${cause.message}). ${hint}: set DATABASE_URL to a PostgreSQL server of yours.`,
          { cause },
        ),
      );
    });
  });
}
