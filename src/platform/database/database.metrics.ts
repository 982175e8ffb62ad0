import { Counter, Gauge } from 'prom-client';

/** Seconds since PostgreSQL last responded on the connection that receives notifications. */
export const listenerAge = new Gauge({
  name: 'carrier_identity_listener_age_seconds',
  help: 'Seconds since the last response on the listening connection; caches are not used above 1',
  aggregator: 'max',
});

const connections = new Gauge({
  name: 'carrier_identity_database_pool_connections',
  help: 'Connections to the database, by pool (requests or jobs) and state (used or idle)',
  labelNames: ['pool', 'state'] as const,
  aggregator: 'sum',
});

const waiting = new Gauge({
  name: 'carrier_identity_database_pool_waiting',
  help: 'Work that waits for a connection, by pool (requests or jobs); long work waits for its share of requests',
  labelNames: ['pool'] as const,
  aggregator: 'sum',
});

/** Seconds by which the replica is behind the primary. */
export const replicaLag = new Gauge({
  name: 'carrier_identity_replica_lag_seconds',
  help: 'Age of the state of the replica that lists are read from',
  aggregator: 'max',
});

/** Counts lists by the server that they are read from. */
export const readsCounter = new Counter({
  name: 'carrier_identity_reads_total',
  help: 'Lists, exports and statistics by server, and the reason for reading the primary; needs DATABASE_REPLICA_URL',
  labelNames: ['server', 'reason'] as const,
});

interface PoolState {
  totalCount: number;
  idleCount: number;
  waitingCount: number;
}

/** Sets the number of requests and batches that wait for a place of an `Admission`. */
export function showWaiting(pool: 'long work' | 'single writes', count: number): void {
  waiting.set({ pool }, count);
}

/** Sets the gauges of a connection pool. */
export function showPool(pool: 'requests' | 'jobs', { totalCount, idleCount, waitingCount }: PoolState): void {
  connections.set({ pool, state: 'used' }, totalCount - idleCount);
  connections.set({ pool, state: 'idle' }, idleCount);
  waiting.set({ pool }, waitingCount);
}
