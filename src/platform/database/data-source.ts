import { Socket } from 'node:net';
import { join } from 'node:path';
import pg, { Pool, type PoolClient } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import { markDriverFault } from '../../http/errors/database-error';
import { closeDead, DatabaseClient, findRefusal } from './database-client';
import { withStatementSpans } from '../tracing/traced-client';

/** Settings of a data source. */
export interface ConnectionSettings {
  url: string;
  /** maximum number of connections per instance */
  poolMax: number;
  /**
   * `requests`: with timeouts. `pooled`: through a pooler such as PgBouncer, which rejects timeouts
   * as start-up parameters: the role must have them. `migrations`: see `migrationSettings`.
   */
  purpose: 'requests' | 'pooled' | 'migrations';
}

/**
 * Limits for requests in ms, so that a slow database leads to 503 responses, not to a long queue.
 */
export const requestTimeouts = {
  statement_timeout: 15_000,
  lock_timeout: 5_000,
  idle_in_transaction_session_timeout: 30_000,
};

/**
 * Connection settings for migrations. Statements have no timeout, even if the role has one.
 * The lock timeout is shorter than the lock timeout of requests, because requests queue behind a
 * waiting `ALTER TABLE`.
 */
export const migrationSettings = {
  application_name: 'carrier-identity migrations',
  options: `-c statement_timeout=0 -c idle_in_transaction_session_timeout=0 -c lock_timeout=2s ${closeDead}`,
};

/**
 * Makes PostgreSQL return timestamps in UTC, the zone of responses. Not used with a pooler, which
 * rejects the parameter: timestamps in another zone only take longer to parse.
 */
const zone = '-c timezone=UTC';

/**
 * Planner settings for short queries on data in memory or on SSDs. The defaults assume spinning
 * disks, where a random page costs four times as much as a sequential page. A pooler rejects these
 * parameters too: set them for the role.
 */
const planner = '-c random_page_cost=1.1 -c max_parallel_workers_per_gather=0 -c jit=off';

/** Socket timeout, longer than the statement timeout (15 s) and the pool's idle timeout (10 s). */
const silenceMs = 16_000;

const limits = {
  requests: { options: `${planner} ${zone} ${closeDead}`, ...requestTimeouts },
  pooled: {},
  migrations: { stream: undefined, ...migrationSettings },
};

/** Returns the settings of a pool that replaces connections without a response. */
export function monitored() {
  const client = withStatementSpans(DatabaseClient);
  return { Client: client, stream: createSocket, connectionTimeoutMillis: 5_000 };
}

/** Returns the data source options for the service, the tests and `ormconfig.ts`. */
export function dataSourceOptions({ url, poolMax, purpose }: ConnectionSettings): DataSourceOptions {
  const root = join(__dirname, '..', '..', '..');
  return {
    type: 'postgres',
    url,
    driver: { ...pg, Pool: MarkingPool },
    applicationName: 'carrier-identity requests',
    entities: [join(root, 'src', '**', '*.entity.{ts,js}')],
    migrations: [join(root, 'migrations', '*.{ts,js}')],
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'each',
    synchronize: false,
    logging: false,
    extra: { max: poolMax, ...monitored(), ...limits[purpose] },
  };
}

/** Creates the pool of a replica. @param onNew runs before the first use of a connection */
export function replicaPool(url: string, max: number, onNew: (client: PoolClient) => Promise<void>): Pool {
  const pool = new Pool({
    connectionString: url,
    application_name: 'carrier-identity replica',
    ...{ max, ...monitored(), ...limits.requests, connectionTimeoutMillis: 2_000 },
    verify: (client, done) => void onNew(client).then(() => done(), done),
  });
  return pool.on('error', () => undefined);
}

type OnConnected = (
  error: Error | undefined,
  client: PoolClient | undefined,
  done: (release?: Error | boolean) => void,
) => void;

/**
 * Marks connection errors as driver errors: TypeORM wraps only the errors of statements. Closes
 * connections from before the last `replaceConnections`.
 */
class MarkingPool extends Pool {
  override connect(): Promise<PoolClient>;
  override connect(onConnected: OnConnected): void;
  override connect(onConnected?: OnConnected): Promise<PoolClient> | void {
    if (onConnected === undefined) return super.connect();
    const refusal = findRefusal();
    if (refusal !== null) return void process.nextTick(onConnected, markDriverFault(refusal));
    super.connect((error, client, done) => {
      if (!(client as (PoolClient & DatabaseClient) | undefined)?.isReplaced)
        return onConnected(markDriverFault(error), client, done);
      done(true);
      this.connect(onConnected);
    });
  }
}

/**
 * Creates a socket that fails if it receives nothing for 16 s. A hanging server, or a network that
 * drops packets, does not reset the connection: queries would wait for about 15 minutes.
 */
function createSocket(): Socket {
  // A client that finds no primary never opens its socket, and `pg` listens only from then on.
  const socket = new Socket().on('error', () => undefined);
  return socket.setTimeout(silenceMs, () =>
    socket.destroy(Object.assign(new Error('the database does not respond'), { code: 'ETIMEDOUT' })),
  );
}
