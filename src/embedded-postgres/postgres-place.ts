import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import {
  EmbeddedPostgresError,
  isReachable,
  makeOwnDirectory,
  type ServerAccount,
  STATE_DIRECTORY,
} from './postgres-binaries';

/** Where a cluster lies and who runs its server. All paths are absolute and free of symlinks. */
export interface Place {
  /**
   * Holds the cluster, the server's log and unfinished clusters: DATA_DIR, or its substitute below
   * STATE_DIRECTORY.
   */
  home: string;
  cluster: string;
  /** null: this process's own account. */
  account: ServerAccount | null;
}

/** Start of the names of clusters that are being made, or were when their maker was killed. */
export const UNFINISHED_PREFIX = 'postgres.init-';

/** The place of the cluster that `dataDir` already has, or null. */
export async function findPlace(dataDir: string): Promise<Place | null> {
  const home = await realpath(dataDir).catch(() => null);
  if (!home) return null;
  for (const candidate of isRoot() ? [home, substituteFor(home)] : [home]) {
    const cluster = join(candidate, 'postgres');
    if (await hasCluster(cluster)) return { home: candidate, cluster, account: await chooseAccount(cluster) };
  }
  return null;
}

/**
 * Like `findPlace`, but makes `dataDir` and chooses a place if there is no cluster yet, and lets
 * the server's account through to it.
 */
export async function preparePlace(dataDir: string): Promise<Place> {
  await mkdir(dirname(resolve(dataDir)), { recursive: true });
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const place = (await findPlace(dataDir)) ?? (await choosePlace(await realpath(dataDir)));
  // Others may pass through, not look: the mode of everything inside guards it.
  if (!(await isReachable(place.home, place.account)))
    await chmod(place.home, ((await stat(place.home)).mode & 0o7777) | 0o011);
  return place;
}

/** @throws if the directory belongs to another user */
export async function hasCluster(cluster: string): Promise<boolean> {
  return stat(join(cluster, 'PG_VERSION')).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

async function choosePlace(home: string): Promise<Place> {
  const account = await chooseAccount(null);
  const inPlace = { home, cluster: join(home, 'postgres'), account };
  if (!account) return inPlace;
  // Letting others through is fine for DATA_DIR, which is ours, but not for a home directory.
  if ((await isReachable(dirname(home), account)) && ![homedir(), '/root'].includes(home)) return inPlace;
  const substitute = substituteFor(home);
  await makeOwnDirectory(STATE_DIRECTORY, 0o711);
  await makeOwnDirectory(substitute, 0o711);
  const note = `The database of this directory is in ${substitute}: PostgreSQL does not run as root, and its user (id ${account.uid}) cannot come here.\n`;
  await writeFile(join(home, 'postgres-is-elsewhere.txt'), note, { mode: 0o600 });
  return { home: substitute, cluster: join(substitute, 'postgres'), account };
}

function substituteFor(home: string): string {
  return join(STATE_DIRECTORY, createHash('sha256').update(home).digest('hex').slice(0, 16));
}

/**
 * As root, the owner of the cluster runs its server; for a new one, the user postgres if the system
 * has it, else nobody.
 */
async function chooseAccount(cluster: string | null): Promise<ServerAccount | null> {
  if (!isRoot()) return null;
  const owner = cluster && (await stat(cluster));
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const users = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'));
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  if (user) return { uid: Number(user[2]), gid: Number(user[3]) };
  throw new EmbeddedPostgresError(
    'PostgreSQL refuses to run as root, and this system has no user "postgres" or "nobody" to run it. Run as an ordinary user, or set DATABASE_URL to a PostgreSQL server of yours.',
  );
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
