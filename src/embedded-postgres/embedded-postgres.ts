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
   * Connection URL of the service's database, password included. The role owns the database and may
   * create others, but is not a superuser.
   */
  url: string;
  /**
   * Directory of the cluster: `<dataDir>/postgres`, or a directory in /var/lib/carrier-identity if
   * the server's account cannot access `dataDir`.
   */
  directory: string;
  /** true if a killed process left the server running; it keeps the settings of its start */
  adopted: boolean;
  /**
   * Shows that this process will stop: a start on the same `DATA_DIR` waits for its end. Ignores
   * failures.
   */
  leave(): Promise<void>;
  /**
   * Stops the server, adopted or not, and waits for its end. Further calls return the same promise.
   */
  stop(): Promise<void>;
}

const DATABASE = 'carrier_identity';
const START_TIMEOUT_MS = 30_000;
/** Name of the lock's connection, which other processes see. The name of a stopping one ends so. */
const OWNER = `carrier-identity ${process.pid}`;
const LEAVING = ' stops';
/** Arbitrary key, the same in all versions of the service. */
const LOCK_KEY = 1_667_330_162;

/** Takes the lock, and returns null, or returns the name of its holder. */
const lockSql = `
  select case when not pg_try_advisory_lock($1) then coalesce((
    select application_name
    from pg_locks
    join pg_stat_activity using (pid)
    where locktype = 'advisory' and objid = $1::bigint::oid and granted
    limit 1
  ), '') end as holder`;

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  cluster_name: DATABASE,
  // Keeps errors out of the server log: they quote rows, and rows contain names and addresses.
  log_min_messages: 'log',
  log_checkpoints: 'off',
};

/**
 * Starts PostgreSQL on `<dataDir>/postgres`, or adopts the server that a killed process left
 * running.
 * The first start creates the cluster, which takes about a second. Each start selects a free port
 * of 127.0.0.1. The server outlives this process unless `stop()` is called.
 * @param dataDir created with mode 0700 if missing; as root with mode 0711, so that the server's
 * account can pass through
 * Waits up to 30 s for a process that stops and uses the same `dataDir`.
 * @param options.settings server settings, passed as `-c name=value`
 * @param options.onWait called once if it waits for another process
 * @throws EmbeddedPostgresError if another process uses `dataDir`, or PostgreSQL cannot run here
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  { settings = {}, onWait = () => undefined }: { settings?: Record<string, string>; onWait?: () => void } = {},
): Promise<EmbeddedPostgres> {
  return explained(dataDir, async () => {
    const place = await preparePlace(dataDir);
    const binaries = await locateBinaries(place.account, place.account ? STATE_DIRECTORY : place.home);
    if (!(await hasCluster(place.cluster))) await createCluster(place, binaries);
    const { postmaster, lock, adopted } = await acquireServer(place, binaries, { ...SETTINGS, ...settings }, onWait);
    const { leave, stop } = holdLock(place, binaries, postmaster, lock);
    try {
      await createDatabase(lock);
      await removeLeftovers(place.home, UNFINISHED_PREFIX);
      return { url: await urlOf(place, postmaster), directory: place.cluster, adopted, leave, stop };
    } catch (error) {
      await stop();
      throw error;
    }
  });
}

/**
 * Returns the URL of the database that a running service uses on `dataDir`, or null if none runs.
 * For command-line tools. Changes nothing and takes no lock.
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

/** Converts errors of files, processes and SQL to a message that tells the operator what to do. */
async function explained<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof EmbeddedPostgresError) throw cause;
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL of DATA_DIR ${dataDir} cannot be used: ${message}. ` +
        'Run as the user that owns this directory and can write to it, ' +
        'choose another DATA_DIR, or set DATABASE_URL to your own PostgreSQL server.',
      { cause },
    );
  }
}

/**
 * Connects to the server of this cluster and takes the lock of its owner. Starts a server if none
 * runs.
 */
async function acquireServer(
  place: Place,
  binaries: string,
  settings: Record<string, string>,
  onWait: () => void,
): Promise<{ postmaster: Postmaster; lock: Client; adopted: boolean }> {
  let onFirstWait = onWait;
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const adopted = (await findPostmaster(place.cluster)) !== null;
    const trouble = adopted ? 'its server accepts no connections' : await launchServer(place, binaries, settings);
    const postmaster = await findPostmaster(place.cluster);
    const lock = postmaster && (await takeLock(place, postmaster));
    const isLate = performance.now() > deadline;
    if (typeof lock === 'string' && (isLate || !lock.endsWith(LEAVING))) {
      throw new EmbeddedPostgresError(
        `Another process uses this DATA_DIR (${place.cluster}, ${lock.replace('carrier-identity', 'process')}). ` +
          'Stop the other process, or choose another DATA_DIR.',
      );
    }
    if (postmaster && lock instanceof Client) return { postmaster, lock, adopted };
    if (adopted) onFirstWait();
    if (adopted) onFirstWait = () => undefined;
    if (isLate) throw new Error(`${trouble ?? 'its server stopped again'}; gave up after ${START_TIMEOUT_MS / 1000} s`);
    await delay(50);
  }
}

async function urlOf(place: Place, { port }: Postmaster): Promise<string> {
  const password = await readFile(join(place.cluster, PASSWORD_FILE), 'utf8');
  return `postgres://${DATABASE}:${password}@127.0.0.1:${port}/${DATABASE}`;
}

/** Connects as superuser. Returns null if the server accepts no connections at the moment. */
async function connect(place: Place, { port }: Postmaster): Promise<Client | null> {
  const password = await readFile(join(place.cluster, PASSWORD_FILE), 'utf8');
  const client = new Client({
    host: '127.0.0.1',
    port,
    user: 'postgres',
    password,
    database: 'postgres',
    application_name: OWNER,
    ssl: false,
    connectionTimeoutMillis: 5000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    if (isTransient(error)) return null;
    throw error;
  }
}

/** Returns whether the server is starting, stopping, full, or closed the connection. */
function isTransient(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return (
    ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P03', '53300'].includes(code) ||
    /terminated|timeout|not queryable/.test(message)
  );
}

/**
 * Returns a connection that holds the lock, or the name of the process that holds it. Retries for a
 * second, because PostgreSQL releases the lock of a killed owner with a short delay.
 */
async function takeLock(place: Place, postmaster: Postmaster): Promise<Client | string | null> {
  const client = postmaster.port ? await connect(place, postmaster) : null;
  if (!client) return null;
  let holder = '';
  try {
    for (let attempt = 0; attempt < 20; attempt++) {
      const { rows } = await client.query<{ holder: string | null }>(lockSql, [LOCK_KEY]);
      if (rows[0]?.holder === null) return client;
      holder = rows[0]?.holder ?? holder;
      await delay(50);
    }
    await client.end();
    return holder;
  } catch (error) {
    await client.end().catch(() => undefined);
    if (isTransient(error)) return null;
    throw error;
  }
}

/**
 * Keeps the lock until the returned function stops the server.
 * Replaces a lost connection, so that no second process can take the cluster: after the crash of a
 * backend, PostgreSQL closes all connections.
 */
function holdLock(
  place: Place,
  binaries: string,
  postmaster: Postmaster,
  first: Client,
): Pick<EmbeddedPostgres, 'leave' | 'stop'> {
  let lock = first;
  let stopping: Promise<void> | undefined;
  const regain = async () => {
    while (!stopping) {
      const next = await takeLock(place, postmaster).catch(() => null);
      if (next instanceof Client) return watch(next);
      await delay(500, undefined, { ref: false });
    }
  };
  const watch = (client: Client) => {
    lock = client;
    client.once('end', () => void regain());
  };
  watch(first);
  // Release the lock last: otherwise another process could adopt a stopping server.
  const stop = () =>
    (stopping ??= stopServer(place, binaries, postmaster.pid).finally(() => lock.end().catch(() => undefined)));
  const leave = () =>
    lock.query(`set application_name = '${OWNER}${LEAVING}'`).then(
      () => undefined,
      () => undefined,
    );
  return { leave, stop };
}

/**
 * Creates the role and the database of the service. Copies the hash of the superuser's password, so
 * that no statement in a log or in pg_stat_activity contains the password.
 */
async function createDatabase(client: Client): Promise<void> {
  await client.query(`
    do $$ begin
      if not exists (select from pg_roles where rolname = '${DATABASE}') then
        execute format(
          'create role ${DATABASE} login createdb password %L',
          (select rolpassword from pg_authid where rolname = current_user)
        );
      end if;
    end $$`);
  const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE]);
  if (!rowCount) await client.query(`create database ${DATABASE} owner ${DATABASE}`);
}
