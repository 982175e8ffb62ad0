import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import {
  type Cluster,
  createCluster,
  EmbeddedPostgresError,
  findAccount,
  findCluster,
  findPostmaster,
} from './postgres-cluster';
import { launchServer, locateBinaries, PASSWORD_FILE, type Settings, stopServer } from './postgres-cluster';

/** A running PostgreSQL that belongs to this process until `stop()`. */
export interface EmbeddedPostgres {
  /** URL of the service's database with the password. Its role is no superuser. */
  url: string;
  /** directory of the cluster */
  directory: string;
  /** true if a killed process left the server running; it keeps the settings of its start */
  adopted: boolean;
  /** Lets a start on the same `DATA_DIR` wait for the end of this process. Ignores failures. */
  leave(): Promise<void>;
  /** Stops the server, adopted or not, and waits for its end. */
  stop(): Promise<void>;
}

const DATABASE = 'carrier_identity';
/** `application_name` of the connection with the lock, with `LEAVING` while the process stops. */
const OWNER = `carrier-identity ${process.pid}`;
const LEAVING = ' stops';

/** Takes the lock, or names its holder. The key is arbitrary. */
const lockSql = `
  select pg_try_advisory_lock(1667330162) as taken, (
    select application_name
    from pg_locks
    join pg_stat_activity using (pid)
    where locktype = 'advisory' and objid = 1667330162 and granted and pid <> pg_backend_pid()
  ) as holder`;

const SETTINGS: Settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  cluster_name: DATABASE,
  // Keeps errors out of the server log: they quote rows, and rows contain names and addresses.
  log_min_messages: 'log',
  log_checkpoints: 'off',
};

/**
 * Starts PostgreSQL on `<dataDir>/postgres` and a free port of 127.0.0.1, or adopts the server that
 * a killed process left running. The server outlives this process unless `stop()` is called.
 * Waits up to 30 s for a process that stops and uses the same `dataDir`.
 * @param dataDir created if missing; as root, its database may be in /var/lib/carrier-identity
 * @param options.onWait called once if it waits for another process
 * @throws EmbeddedPostgresError if another process uses `dataDir`, or PostgreSQL cannot run here
 */
export function startEmbeddedPostgres(
  dataDir: string,
  { settings = {}, onWait = () => undefined }: { settings?: Settings; onWait?: () => void } = {},
): Promise<EmbeddedPostgres> {
  return explained(dataDir, async () => {
    const found = await findCluster(dataDir);
    const account = found ? found.account : await findAccount();
    const binaries = await locateBinaries(account);
    const cluster = found ?? (await createCluster(dataDir, account, binaries));
    const launch = () => launchServer(cluster, binaries, { ...SETTINGS, ...settings });
    const { lock, adopted } = await acquireServer(cluster, launch, onWait);
    const { leave, stop } = holdLock(cluster, lock);
    try {
      await createDatabase(lock);
      return { url: await urlOf(cluster, lock), directory: cluster.directory, adopted, leave, stop };
    } catch (error) {
      await stop();
      throw error;
    }
  });
}

/** Returns the URL of the database of the service that runs on `dataDir`, or null if none runs. */
export function findEmbeddedPostgres(dataDir: string): Promise<string | null> {
  return explained(dataDir, async () => {
    const cluster = await findCluster(dataDir);
    const server = cluster && (await findPostmaster(cluster));
    return cluster && server?.isReady ? urlOf(cluster, server) : null;
  });
}

/** Converts errors of files, processes and SQL to a message that tells the operator what to do. */
async function explained<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof EmbeddedPostgresError) throw cause;
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL of DATA_DIR ${dataDir} cannot be used: ${(cause as Error).message}. ` +
        'Run as the user that owns this directory and can write to it, choose another DATA_DIR, or set DATABASE_URL ' +
        'to your own PostgreSQL server.',
      { cause },
    );
  }
}

/** Takes the lock of the owner on the server of this cluster. Starts a server if none runs. */
async function acquireServer(
  cluster: Cluster,
  launch: () => Promise<string | null>,
  onWait: () => void,
): Promise<{ lock: Client; adopted: boolean }> {
  const began = performance.now();
  for (let isWaiting = false; ; await delay(50)) {
    const adopted = (await findPostmaster(cluster)) !== null;
    const trouble = adopted ? 'its server accepts no connections' : await launch();
    const lock = await takeLock(cluster);
    if (lock instanceof Client) return { lock, adopted };
    const isInUse = lock !== null && !lock.endsWith(LEAVING);
    // PostgreSQL releases the lock of a killed process with a short delay.
    if (performance.now() - began > (isInUse ? 1_000 : 30_000)) {
      if (lock === null) throw new Error(`${trouble ?? 'its server stopped again'}; gave up after 30 s`);
      throw new EmbeddedPostgresError(
        `Another process uses this DATA_DIR (${cluster.directory}, ${lock.replace('carrier-identity', 'process')}). ` +
          'Stop the other process, or choose another DATA_DIR.',
      );
    }
    if (adopted && !isInUse && !isWaiting) onWait();
    isWaiting ||= adopted && !isInUse;
  }
}

async function urlOf({ directory }: Cluster, { port }: { port: number }, name = DATABASE): Promise<string> {
  const password = await readFile(join(directory, PASSWORD_FILE), 'utf8');
  return `postgres://${name}:${password}@127.0.0.1:${port}/${name}`;
}

/**
 * Returns a connection of the superuser that holds the lock, the name of its holder, or null if the
 * server accepts no connections at the moment.
 */
async function takeLock(cluster: Cluster): Promise<Client | string | null> {
  const server = await findPostmaster(cluster);
  if (!server?.isReady) return null;
  const connectionString = await urlOf(cluster, server, 'postgres');
  const client = new Client({ connectionString, ssl: false, connectionTimeoutMillis: 5000, application_name: OWNER });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ taken: boolean; holder: string | null }>(lockSql);
    if (rows[0]?.taken) return client;
    await client.end();
    return rows[0]?.holder ?? null;
  } catch (error) {
    await client.end().catch(() => undefined);
    const { code = '', message } = error as Error & { code?: string };
    // The server is starting, stopping, full, or closed the connection.
    const isTransient = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P03', '53300'].includes(code);
    if (isTransient || /terminated|timeout|not queryable/.test(message)) return null;
    throw error;
  }
}

/**
 * Keeps the lock until `stop()`. Replaces a lost connection, so that no second process can take the
 * cluster: after the crash of a backend, PostgreSQL closes all connections.
 */
function holdLock(cluster: Cluster, first: Client): Pick<EmbeddedPostgres, 'leave' | 'stop'> {
  let lock: Client;
  let stopping: Promise<void> | undefined;
  const hold = (client: Client) => {
    lock = client.once('end', () => void regain());
  };
  const regain = async () => {
    for (; !stopping; await delay(500, undefined, { ref: false })) {
      const next = await takeLock(cluster).catch(() => null);
      if (next instanceof Client) return hold(next);
    }
  };
  hold(first);
  return {
    leave: async () => void (await lock.query(`set application_name = '${OWNER}${LEAVING}'`).catch(() => undefined)),
    // Release the lock last: otherwise another process could adopt a stopping server.
    stop: () => (stopping ??= stopServer(cluster, lock.port).finally(() => lock.end().catch(() => undefined))),
  };
}

/**
 * Creates the role and the database of the service. Copies the hash of the superuser's password, so
 * that no statement in a log or in pg_stat_activity contains the password.
 */
async function createDatabase(client: Client): Promise<void> {
  const { rows } = await client.query<{ sql: string }>(`
    select format('create role ${DATABASE} login createdb password %L', rolpassword) as sql
    from pg_authid
    where rolname = current_user and not exists (select from pg_roles where rolname = '${DATABASE}')`);
  for (const { sql } of rows) await client.query(sql);
  const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE]);
  if (!rowCount) await client.query(`create database ${DATABASE} owner ${DATABASE}`);
}
