import { Socket } from 'node:net';
import { join } from 'node:path';
import pg, { Client, type ClientConfig, Pool, type PoolClient } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import { markDriverFault } from '../common/errors/database-error';
import { registerTimeParser } from './time-parser';

registerTimeParser();

/** What the connection needs to know. */
export interface ConnectionSettings {
  url: string;
  /** connections per instance */
  poolMax: number;
  /**
   * `requests`: nothing waits for long. `pooled`: likewise, but a pooler such as PgBouncer stands
   * between, which refuses timeouts as start-up parameters. `migrations`: a statement may take as
   * long as it needs.
   */
  purpose: 'requests' | 'pooled' | 'migrations';
}

/**
 * No request waits longer for a connection, a statement or a lock; the database's faults become 503
 * instead of a pile-up.
 */
const timeouts = { statement_timeout: 15_000, lock_timeout: 5_000, idle_in_transaction_session_timeout: 30_000 };

/**
 * Times come as texts in UTC, which is how they are answered. Behind a pooler they may come in
 * another zone, and are only read more slowly.
 */
const zone = '-c timezone=UTC';

/**
 * Pages are read by index from memory or flash, one request on one core: with the defaults, made
 * for disks that turn and for reports, the planner takes an index for four times as dear as it is.
 * Behind a pooler, which refuses these too, set them for the role.
 */
const planner = '-c random_page_cost=1.1 -c max_parallel_workers_per_gather=0 -c jit=off';

/** Longer than any statement may take, and than the pool keeps an idle connection (10 s). */
const silenceMs = 16_000;

const limits = {
  requests: { stream: createSocket, options: `${planner} ${zone}`, ...timeouts },
  pooled: { stream: createSocket },
  migrations: {},
};

/** The options of the one data source, shared by the service, the tests and `ormconfig.ts`. */
export function dataSourceOptions({ url, poolMax, purpose }: ConnectionSettings): DataSourceOptions {
  const root = join(__dirname, '..', '..');
  return {
    type: 'postgres',
    url,
    driver: { ...pg, Pool: MarkingPool },
    applicationName: 'carrier-identity',
    entities: [join(root, 'src', '**', '*.entity.{ts,js}')],
    migrations: [join(root, 'migrations', '*.{ts,js}')],
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'each',
    synchronize: false,
    logging: false,
    extra: { Client: QuietClient, max: poolMax, connectionTimeoutMillis: 5_000, keepAlive: true, ...limits[purpose] },
  };
}

/**
 * A connection that is lost fails the query it is busy with, or the next. Between the moment in
 * which it is made and that in which somebody listens to it, nobody else would take notice, and
 * Node ends the process.
 */
class QuietClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}

type OnConnected = (
  error: Error | undefined,
  client: PoolClient | undefined,
  done: (release?: Error | boolean) => void,
) => void;

/** Marks errors of connecting. TypeORM wraps the errors of statements, but not these. */
class MarkingPool extends Pool {
  override connect(): Promise<PoolClient>;
  override connect(onConnected: OnConnected): void;
  override connect(onConnected?: OnConnected): Promise<PoolClient> | void {
    if (onConnected === undefined) return super.connect();
    super.connect((error, client, done) => onConnected(markDriverFault(error), client, done));
  }
}

/**
 * A server that hangs, or a network that swallows packets, resets no connection: without this its
 * queries would wait for a quarter of an hour.
 */
function createSocket(): Socket {
  const socket = new Socket();
  return socket.setTimeout(silenceMs, () =>
    socket.destroy(Object.assign(new Error('the database is silent'), { code: 'ETIMEDOUT' })),
  );
}
