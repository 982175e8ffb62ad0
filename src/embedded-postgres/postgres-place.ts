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

/** Location of a cluster and account of its server. All paths are absolute and without symlinks. */
export interface Place {
  /**
   * directory of the cluster, its log and its drafts: DATA_DIR, or a substitute in STATE_DIRECTORY
   */
  home: string;
  cluster: string;
  /** null = the account of this process */
  account: ServerAccount | null;
}

/** Name prefix of clusters that are being created, or were abandoned by a killed process. */
export const UNFINISHED_PREFIX = 'postgres.init-';

/** Returns the place of the existing cluster of `dataDir`, or null. */
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
 * Returns the place of the cluster of `dataDir`, or selects a place if there is no cluster.
 * Creates `dataDir`, and lets the server's account pass through to the place.
 */
export async function preparePlace(dataDir: string): Promise<Place> {
  await mkdir(dirname(resolve(dataDir)), { recursive: true });
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const place = (await findPlace(dataDir)) ?? (await choosePlace(await realpath(dataDir)));
  // Other users may pass through the directory but not list it. The modes of its entries protect
  // the entries.
  if (!(await isReachable(place.home, place.account)))
    await chmod(place.home, ((await stat(place.home)).mode & 0o7777) | 0o011);
  return place;
}

/** Returns whether a directory contains a cluster. @throws if it belongs to another user */
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
  // Other users may pass through DATA_DIR, which belongs to the service, but not through a home.
  if ((await isReachable(dirname(home), account)) && ![homedir(), '/root'].includes(home)) return inPlace;
  const substitute = substituteFor(home);
  await makeOwnDirectory(STATE_DIRECTORY, 0o711);
  await makeOwnDirectory(substitute, 0o711);
  const note =
    `The database of this directory is in ${substitute}: PostgreSQL does not run as root, ` +
    `and its user (id ${account.uid}) cannot access this directory.\n`;
  await writeFile(join(home, 'postgres-is-elsewhere.txt'), note, { mode: 0o600 });
  return { home: substitute, cluster: join(substitute, 'postgres'), account };
}

function substituteFor(home: string): string {
  return join(STATE_DIRECTORY, createHash('sha256').update(home).digest('hex').slice(0, 16));
}

/**
 * Returns the account of the server if this process is root: the owner of the cluster, or for a new
 * cluster the user "postgres" or "nobody".
 */
async function chooseAccount(cluster: string | null): Promise<ServerAccount | null> {
  if (!isRoot()) return null;
  const owner = cluster && (await stat(cluster));
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const users = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'));
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  if (user) return { uid: Number(user[2]), gid: Number(user[3]) };
  throw new EmbeddedPostgresError(
    'PostgreSQL does not run as root, and this system has no user "postgres" or "nobody". ' +
      'Run as an ordinary user, or set DATABASE_URL to your own PostgreSQL server.',
  );
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
