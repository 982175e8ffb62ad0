import { existsSync } from 'node:fs';
import { readFile, readlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { StartFault } from '../start-fault';
import { type Cluster, findCluster, launchServer, openCluster, PASSWORD_FILE, stopServer } from './postgres-cluster';

/** A running PostgreSQL that belongs to this process until `stop()`. */
export interface EmbeddedPostgres {
  /** URL of the service's database with the password. Its role is no superuser. */
  url: string;
  /** directory of the cluster */
  directory: string;
  /** Stops the server and waits for its end. */
  stop(): Promise<void>;
}

const DATABASE = 'carrier_identity';
/** Takes the lock of the process that owns the server. The key is arbitrary. */
const lockSql = 'select pg_try_advisory_lock(1667330162) as taken';

const SETTINGS = {
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
 * Waits up to 15 s for a process that uses the same `dataDir` to stop.
 * @param dataDir created if missing; as root, its database may be in /var/lib/carrier-identity
 * @throws StartFault if another process uses `dataDir`, or PostgreSQL cannot run here
 */
export function startEmbeddedPostgres(
  dataDir: string,
  { settings = {} }: { settings?: Record<string, string> } = {},
): Promise<EmbeddedPostgres> {
  return explained(dataDir, async () => {
    const { cluster, binaries } = await openCluster(dataDir);
    const launch = () => launchServer(cluster, binaries, { ...SETTINGS, ...settings });
    const lock = await acquireServer(cluster, launch);
    const stop = holdLock(cluster, lock, binaries);
    try {
      await createDatabase(lock);
      return { url: await urlOf(cluster, lock.port), directory: cluster.directory, stop };
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
    const client = cluster && (await connect(cluster));
    await client?.end();
    return cluster && client ? urlOf(cluster, client.port) : null;
  });
}

/** Converts errors of files, processes and SQL to a message that tells the operator what to do. */
async function explained<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof StartFault) throw cause;
    throw new StartFault(
      `The embedded PostgreSQL of DATA_DIR ${dataDir} cannot be used: ${(cause as Error).message}. ` +
        'Run as the user that owns this directory and can write to it, choose another DATA_DIR, or set DATABASE_URL ' +
        'to your own PostgreSQL server.',
      { cause },
    );
  }
}

/** Takes the lock of the owner on the server of this cluster. Starts a server if none runs. */
async function acquireServer(cluster: Cluster, launch: () => Promise<string | null>): Promise<Client> {
  const began = performance.now();
  for (let trouble: string | null = null; ; await delay(100)) {
    const lock = await takeLock(cluster);
    if (lock instanceof Client) return lock;
    const waitedMs = performance.now() - began;
    if (lock === 'held' && waitedMs > 15_000)
      throw new StartFault(
        `Another process uses this DATA_DIR (${cluster.directory}). Stop it, or choose another DATA_DIR.`,
      );
    if (lock === null && waitedMs > 30_000)
      throw new Error(`${trouble ?? 'its server accepts no connections'}; gave up after 30 s`);
    if (lock === null) trouble = await launch();
  }
}

async function urlOf({ directory }: Cluster, port: number, name = DATABASE): Promise<string> {
  const password = await readFile(join(directory, PASSWORD_FILE), 'utf8');
  return `postgres://${name}:${password}@127.0.0.1:${port}/${name}`;
}

/** Connects the superuser to the server of a cluster. Returns null if it accepts no connections. */
async function connect(cluster: Cluster): Promise<Client | null> {
  const file = await readFile(join(cluster.directory, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid = 0, , , port = 0] = file.split('\n').map(Number);
  const connectionString = (await isServer(pid, cluster)) ? await urlOf(cluster, port, 'postgres').catch(() => '') : '';
  // Without a URL, `pg` would connect to the server of its environment variables.
  if (!connectionString) return null;
  const application_name = 'carrier-identity owner';
  const client = new Client({ connectionString, ssl: false, connectionTimeoutMillis: 5000, application_name });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ directory: string }>("select current_setting('data_directory') as directory");
    // Another server may use the port of a killed server, such as the server of a copied directory.
    if (resolve(rows[0]?.directory ?? '') === cluster.directory) return client;
  } catch {
    // The server does not run, is starting or stopping, or has no free connection.
  }
  await client.end().catch(() => undefined);
  return null;
}

/** A program on the port of a killed server must not get the password. True without /proc. */
async function isServer(pid: number, { directory }: Cluster): Promise<boolean> {
  return !existsSync('/proc/self') || (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === directory;
}

/**
 * Returns a connection that holds the lock. Returns `held` if another connection holds the lock,
 * and null if no server accepts connections.
 */
async function takeLock(cluster: Cluster): Promise<Client | 'held' | null> {
  const client = await connect(cluster);
  const { rows } = (await client?.query<{ taken: boolean }>(lockSql).catch(() => null)) ?? {};
  if (client && rows?.[0]?.taken) return client;
  await client?.end().catch(() => undefined);
  return rows ? 'held' : null;
}

/**
 * Keeps the lock, and returns a function that stops the server. Replaces a lost connection, so that
 * no second process can take the cluster: after the crash of a backend, PostgreSQL closes all
 * connections.
 */
function holdLock(cluster: Cluster, first: Client, binaries: string): () => Promise<void> {
  let lock: Client | null;
  let regained: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  const hold = (client: Client) => {
    lock = client.once('end', () => {
      regained = regain();
    });
  };
  const regain = async () => {
    for (lock = null; !stopping; await delay(500)) {
      const next = await takeLock(cluster);
      if (next instanceof Client) return hold(next);
    }
  };
  const stop = async () => {
    await regained;
    // Without the lock, the process id in the directory may belong to another program.
    const held = lock ?? (await takeLock(cluster));
    if (held instanceof Client) await stopServer(cluster, binaries);
  };
  hold(first);
  return () => (stopping ??= stop());
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
