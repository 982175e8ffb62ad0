import cluster from 'node:cluster';
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { Client, Pool, PoolClient } from 'pg';
import { AppError } from '../../http/errors/app-error';
import { isTimeLimit, markDriverFault } from '../../http/errors/database-error';
import type { CursorPosition } from '../../http/lists/cursor';
import { sql } from '../../http/lists/sql';
import { monotonicMs } from '../clock';
import { CONFIG, type Config } from '../config/config';
import { isWorker, poolMinPerWorker, shareOf } from '../instance';
import { MetricsService } from '../metrics/metrics.service';
import { replicaPool } from './data-source';
import { Database } from './database';
import { DatabaseClient } from './database-client';
import { readsCounter, replicaLag } from './database.metrics';
import { Notifications } from './notifications.service';
import type { Position, Reader, Reads, ReadServer, Send } from './reads';
import { Snapshot } from './snapshot';

const pollEveryMs = 250;
const pollTimeoutMs = 2_000;
/** Positions of the primary that are kept, for about four minutes. */
const positionsMax = 1_000;
const reconnectMs = 1_000;
/** Number of values of `slotOf`. */
const slots = 0x10000;

/** Message of a worker to the others of its instance: a reader of this slot changed something. */
export interface ReaderChanged {
  kind: 'changed';
  slot: number;
}

/** Identifies a server and its last start. */
const serverSql = sql`select concat_ws(' ', inet_server_addr(), inet_server_port(), pg_postmaster_start_time()) as id`;
/** Identifies a primary and its standbys. */
const systemSql = sql`select system_identifier::text as id from pg_control_system()`;
/**
 * How far a standby has replayed. A standby that receives a timeline has replayed nothing that the
 * timeline lacks. Roles without `pg_read_all_stats` do not see it, and the other two follow later.
 */
const stateSql = `
  select
    pg_is_in_recovery() as is_standby,
    pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::float8 as lsn,
    greatest(checkpoint.timeline_id, recovery.min_recovery_end_timeline, receiver.received_tli) as timeline
  from pg_control_checkpoint() checkpoint
  cross join pg_control_recovery() recovery
  left join pg_stat_wal_receiver receiver on true`;

interface State {
  is_standby: boolean;
  lsn: number;
  timeline: number;
}

/**
 * Reads lists, statistics and exports from a standby of the primary.
 * The listening connection reports positions of the primary in its WAL, each with the time before
 * which all acknowledged commits are included. The newest position that the standby has replayed
 * tells how old its state is, without comparing the clocks of two machines.
 * A fault of the standby is never visible to a caller: the primary is read instead. Only an export
 * that has begun fails.
 */
@Injectable()
export class Replica implements ReadServer, OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(Replica.name);
  private readonly pool: Pool | undefined;
  /** connections that run a statement */
  private readonly busy = new Set<Client>();
  /** positions that the standby may not have replayed yet, the oldest first */
  private positions: Position[] = [];
  /** the newest position that the standby has replayed; null = the standby is not read */
  private reached: Position | null = null;
  /** time of the last position that was reached, at first the start of the process */
  private reachedAt = monotonicMs();
  /** Time of the last change by `slotOf` a reader. Readers who share a slot share their changes. */
  private readonly changes = new Float64Array(slots);
  /** connection that reads the state of the standby */
  private client: Client | null = null;
  /** server of `client`: a URL can lead to several standbys */
  private server: string | undefined;
  /** servers of the connections of the pool */
  private readonly servers = new WeakMap<object, string | undefined>();
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  /** last logged reason for not reading the standby; null while it is read */
  private reason: string | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
    notifications: Notifications,
    metrics: MetricsService,
  ) {
    const url = config.DATABASE_REPLICA_URL;
    if (url === undefined) return;
    // As many connections as lists can run at a time.
    const max = Math.floor(shareOf(config.DATABASE_POOL_MAX, poolMinPerWorker) / 2);
    this.pool = replicaPool(url, max, async (client) => void this.servers.set(client, await serverOf(client)));
    database.readFrom(this);
    notifications.onPosition((position) => this.positions.push(position) > positionsMax && this.positions.shift());
    // The next primary may continue from an earlier position.
    notifications.onGap(() => {
      this.reached = null;
      this.positions = [];
    });
    if (isWorker)
      process.on('message', ({ kind, slot }: Partial<ReaderChanged>) => {
        if (kind === 'changed') this.changes[slot as number] = monotonicMs();
      });
    metrics.beforeScrape(() => replicaLag.set((monotonicMs() - this.reachedAt) / 1_000));
  }

  get isConfigured(): boolean {
    return this.pool !== undefined;
  }

  onApplicationBootstrap(): void {
    if (this.isConfigured) void this.poll();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    this.lose('the service stops');
    await this.pool?.end();
  }

  /**
   * Notes that a reader changed something or saw a change. Lists that are read afterwards contain
   * all changes until now, also at the other workers of this instance as soon as they have the
   * message, which usually arrives before the next request of the reader.
   */
  noteChange(reader: Reader): void {
    const slot = slotOf(reader);
    this.changes[slot] = monotonicMs();
    if (isWorker) cluster.worker?.send({ kind: 'changed', slot } satisfies ReaderChanged);
  }

  /**
   * Returns the standby for a list, or null if the primary must be read.
   * @param after position of an earlier page, which the list must not be older than
   */
  reads(reader: Reader, after?: CursorPosition): Reads | null {
    const { reached, server } = this;
    const isLate =
      reached === null ||
      monotonicMs() - reached.since >= this.config.REPLICA_LAG_MAX_MS ||
      // Without `since`, the earlier page came from an instance that does not know the replica.
      (after !== undefined && (after.since === undefined || BigInt(after.since) > BigInt(reached.horizon.tx)));
    const isBeforeOwn = !isLate && reached.since <= (this.changes[slotOf(reader)] as number);
    const reason = isLate ? 'lag' : isBeforeOwn ? 'own_change' : null;
    readsCounter.inc({ server: reason === null ? 'replica' : 'primary', reason: reason ?? '' });
    if (isLate || isBeforeOwn) return null;
    return {
      ...this.database.answersFrom((query, values) => this.send(server, query, values)),
      horizon: reached.horizon,
      openSnapshot: (holder, signal) => this.openSnapshot(server, holder, signal),
    };
  }

  /** Sends a statement to the standby, and after a fault to the primary. */
  private async send<Row>(server: string | undefined, ...[query, values]: Parameters<Send>): Promise<Row[]> {
    try {
      const client = (await (this.pool as Pool).connect()) as PoolClient & Client;
      this.busy.add(client);
      try {
        if (this.servers.get(client) !== server) throw new Error('the connection leads to another standby');
        return (await client.query({ ...query, values })).rows as Row[];
      } finally {
        this.busy.delete(client);
        client.release(this.servers.get(client) !== this.server);
      }
    } catch (error) {
      // The primary would not respond in time either.
      if (isTimeLimit(markDriverFault(error))) throw error;
      readsCounter.inc({ server: 'primary', reason: 'fault' });
      return this.database.send(query, values);
    }
  }

  private async openSnapshot(server: string | undefined, holder: string, signal: AbortSignal): Promise<Snapshot> {
    const cancel = (pid: number) => (this.pool as Pool).query('select pg_cancel_backend($1)', [pid]);
    try {
      const snapshot = await Snapshot.open(this.config.DATABASE_REPLICA_URL as string, cancel, holder, signal);
      const [found] = await snapshot.run<{ id: string }>(serverSql).catch(() => []);
      if (found?.id === server) return snapshot;
      await snapshot.close();
    } catch (error) {
      if (error instanceof AppError) throw error;
    }
    readsCounter.inc({ server: 'primary', reason: 'fault' });
    return this.database.openSnapshot(holder, signal);
  }

  private async poll(): Promise<void> {
    const startedAt = monotonicMs();
    try {
      const client = this.client ?? (await this.connect());
      this.observe((await client.query<State>(stateSql)).rows[0] as State);
    } catch (error) {
      this.lose((error as Error).message);
    }
    if (this.stopped) return this.lose('the service stops');
    const pause = this.client === null ? reconnectMs : startedAt + pollEveryMs - monotonicMs();
    this.timer = setTimeout(() => void this.poll(), Math.max(0, pause)).unref();
  }

  private async connect(): Promise<Client> {
    const client = (this.client = new DatabaseClient({
      connectionString: this.config.DATABASE_REPLICA_URL,
      application_name: 'carrier-identity replica state',
      connectionTimeoutMillis: pollTimeoutMs,
      query_timeout: pollTimeoutMs,
    }));
    client.on('error', ({ message }) => this.client === client && this.lose(message));
    await client.connect();
    const own = await client.query<{ id: string }>(systemSql.toQuery());
    const [primary] = await this.database.run<{ id: string }>(systemSql);
    if (own.rows[0]?.id !== primary?.id) throw new Error('the server is not a standby of the primary');
    this.server = await serverOf(client);
    return client;
  }

  private observe({ is_standby, lsn, timeline }: State): void {
    if (!is_standby) throw new Error('the server is not a standby');
    const latest = this.positions.at(-1);
    if (latest === undefined) return;
    if (latest.timeline !== timeline)
      throw new Error(`the server follows timeline ${timeline}, not ${latest.timeline}`);
    const index = this.positions.findLastIndex((position) => position.lsn <= lsn);
    if (index >= 0) {
      this.reached = this.positions[index] as Position;
      this.reachedAt = this.reached.since;
      this.positions.splice(0, index);
    }
    if (this.reason !== null) this.logger.warn('replica: is read again');
    this.reason = null;
  }

  /**
   * Stops reading the standby until a new connection shows its state. Running statements fail, and
   * are sent to the primary.
   */
  private lose(reason: string): void {
    this.reached = null;
    this.client?.end().catch(() => undefined);
    this.client = null;
    for (const client of this.busy) client.end().catch(() => undefined);
    if (this.stopped || reason === this.reason) return;
    this.reason = reason;
    this.logger.warn(`replica: is not read: ${reason}`);
  }
}

/** Returns the last digits of an id, which are random. */
function slotOf({ user_id }: Reader): number {
  return parseInt(user_id.slice(-4), 16);
}

async function serverOf(client: Pick<Client, 'query'>): Promise<string | undefined> {
  const query = { ...serverSql.toQuery(), query_timeout: pollTimeoutMs };
  return (await client.query<{ id: string }>(query)).rows[0]?.id;
}
