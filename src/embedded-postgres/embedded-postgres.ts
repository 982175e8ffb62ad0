import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { EmbeddedPostgresError, locateBinaries, removeLeftovers, STATE_DIRECTORY } from './postgres-binaries';
import { findPlace, hasCluster, type Place, preparePlace, UNFINISHED_PREFIX } from './postgres-place';
import {
  createCluster,
  findPostmaster,
  launchServer,
  PASSWORD_FILE,
  type Postmaster,
  stopServer,
} from './postgres-server';

export { EmbeddedPostgresError };

/** A running PostgreSQL that belongs to this process until `stop()`. */
export interface EmbeddedPostgres {
  /**
   * Connection URL of the service's database, password included. Its role owns the database and may
   * create others, but is no superuser.
   */
  url: string;
  /**
   * The cluster: `<dataDir>/postgres`, or a directory in /var/lib/carrier-identity if the server's
   * account cannot reach `dataDir`.
   */
  directory: string;
  /**
   * True if the server was already running, left behind by a killed process; it keeps the settings
   * it was started with.
   */
  adopted: boolean;
  /**
   * Stops the server, an adopted one too, and waits until it has gone. Further calls return the
   * same promise.
   */
  stop(): Promise<void>;
}

const DATABASE = 'carrier_identity';
const PATIENCE_MS = 30_000;
/** Any number, as long as all versions of the service take the same one. */
const LOCK_KEY = 1_667_330_162;

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  cluster_name: DATABASE,
  // Errors stay out of the server's log: they quote rows, and with them people's names and
  // addresses.
  log_min_messages: 'log',
  log_checkpoints: 'off',
};

/**
 * Starts PostgreSQL on `<dataDir>/postgres`, or takes over the server that a killed process left
 * running there. The first start creates the cluster (about a second). The server listens on a free
 * port of 127.0.0.1, another one at each start, and outlives this process unless `stop()` is
 * called.
 * @param dataDir made with mode 0700 if missing; if this process is root, 0711, so that the
 * server's account can pass
 * @param options.settings server settings, passed as `-c name=value`
 * @throws EmbeddedPostgresError if another process uses `dataDir`, or PostgreSQL cannot run here
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  options: { settings?: Record<string, string> } = {},
): Promise<EmbeddedPostgres> {
  return explained(dataDir, async () => {
    const place = await preparePlace(dataDir);
    const binaries = await locateBinaries(place.account, place.account ? STATE_DIRECTORY : place.home);
    if (!(await hasCluster(place.cluster))) await createCluster(place, binaries);
    const { postmaster, lock, adopted } = await takePossession(place, binaries, { ...SETTINGS, ...options.settings });
    const stop = holdLock(place, binaries, postmaster, lock);
    try {
      await createDatabase(lock);
      await removeLeftovers(place.home, UNFINISHED_PREFIX);
      return { url: await urlOf(place, postmaster), directory: place.cluster, adopted, stop };
    } catch (error) {
      await stop();
      throw error;
    }
  });
}

/**
 * For command-line tools beside a running service: the URL of the service's database on the server
 * that runs on `dataDir`, or null if none does. Changes nothing and takes no lock.
 * @throws EmbeddedPostgresError if the cluster belongs to another user
 */
export async function findEmbeddedPostgres(dataDir: string): Promise<string | null> {
  return explained(dataDir, async () => {
    const place = await findPlace(dataDir);
    const postmaster = place && (await findPostmaster(place.cluster));
    if (!postmaster) return null;
    const client = await connect(place, postmaster);
    if (!client) return null;
    await client.end();
    return urlOf(place, postmaster);
  });
}

/** Gives what went wrong on the way (files, processes, SQL) the form an operator can act on. */
async function explained<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof EmbeddedPostgresError) throw cause;
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL of DATA_DIR ${dataDir} cannot be used: ${message}. Run as the user that owns this directory and can write to it, ` +
        'choose another DATA_DIR, or set DATABASE_URL to a PostgreSQL server of yours.',
      { cause },
    );
  }
}

/**
 * Connects to the server on this cluster, starting one if none runs, and takes the lock that says
 * whose it is.
 */
async function takePossession(place: Place, binaries: string, settings: Record<string, string>) {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const adopted = (await findPostmaster(place.cluster)) !== null;
    const trouble = adopted ? 'its server accepts no connections' : await launchServer(place, binaries, settings);
    const postmaster = await findPostmaster(place.cluster);
    const lock = postmaster && (await takeLock(place, postmaster));
    if (lock === 'in use') {
      throw new EmbeddedPostgresError(
        `Another process uses this DATA_DIR (${place.cluster}, server process ${postmaster?.pid}). Stop it first, or give this one another DATA_DIR.`,
      );
    }
    if (postmaster && lock) return { postmaster, lock, adopted };
    if (performance.now() > deadline)
      throw new Error(`${trouble ?? 'its server went away again'}; ${PATIENCE_MS / 1000} s were not enough`);
    await delay(50);
  }
}

async function urlOf(place: Place, { port }: Postmaster): Promise<string> {
  return `postgres://${DATABASE}:${await readFile(join(place.cluster, PASSWORD_FILE), 'utf8')}@127.0.0.1:${port}/${DATABASE}`;
}

/** A superuser's connection, or null if the server takes none at the moment. */
async function connect(place: Place, { port }: Postmaster): Promise<Client | null> {
  const password = await readFile(join(place.cluster, PASSWORD_FILE), 'utf8');
  const client = new Client({
    host: '127.0.0.1',
    port,
    user: 'postgres',
    password,
    database: 'postgres',
    ssl: false,
    connectionTimeoutMillis: 5000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    if (isPassing(error)) return null;
    throw error;
  }
}

/** Starting, stopping, full, or gone while we spoke. */
function isPassing(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return (
    ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P03', '53300'].includes(code) ||
    /terminated|timeout/.test(message)
  );
}

/**
 * The connection that holds the lock. It ends with this process, however that ends, so the lock
 * never outlives its owner for long: hence the retries.
 */
async function takeLock(place: Place, postmaster: Postmaster): Promise<Client | 'in use' | null> {
  const client = postmaster.port ? await connect(place, postmaster) : null;
  if (!client) return null;
  try {
    for (let attempt = 0; attempt < 20; attempt++) {
      const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [LOCK_KEY]);
      if (rows[0]?.locked) return client;
      await delay(50);
    }
    await client.end();
    return 'in use';
  } catch (error) {
    await client.end().catch(() => undefined);
    if (isPassing(error)) return null;
    throw error;
  }
}

/**
 * Keeps the lock until the returned function stops the server. A lost connection (a crashed backend
 * makes PostgreSQL restart all of them) is replaced, else a second process could take the cluster.
 */
function holdLock(place: Place, binaries: string, postmaster: Postmaster, first: Client): () => Promise<void> {
  let lock = first;
  let stopping: Promise<void> | undefined;
  const regain = async () => {
    while (!stopping) {
      const next = await takeLock(place, postmaster).catch(() => null);
      if (next && next !== 'in use') return watch(next);
      await delay(500, undefined, { ref: false });
    }
  };
  const watch = (client: Client) => {
    lock = client;
    client.once('end', () => void regain());
  };
  watch(first);
  // The lock goes last: given back before, it would let another process adopt a server that is
  // about to stop.
  return () =>
    (stopping ??= stopServer(place, binaries, postmaster.pid).finally(() => lock.end().catch(() => undefined)));
}

/**
 * The service's role gets the superuser's password by its hash: no statement holds it that a log or
 * pg_stat_activity could show.
 */
async function createDatabase(client: Client): Promise<void> {
  await client.query(`
    do $$ begin
      if not exists (select from pg_roles where rolname = '${DATABASE}') then
        execute format('create role ${DATABASE} login createdb password %L', (select rolpassword from pg_authid where rolname = current_user));
      end if;
    end $$`);
  const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE]);
  if (!rowCount) await client.query(`create database ${DATABASE} owner ${DATABASE}`);
}
