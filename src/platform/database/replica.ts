import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Client, Pool, PoolClient, QueryConfig } from 'pg';
import { AppError } from '../../http/errors/app-error';
import { isTimeLimit, markDriverFault } from '../../http/errors/database-error';
import type { CursorPosition } from '../../http/lists/cursor';
import { sql } from '../../http/lists/sql';
import { monotonicMs } from '../clock';
import { CONFIG, type Config } from '../config/config';
import { poolMinPerWorker, shareOf } from '../instance';
import { MetricsService } from '../metrics/metrics.service';
import { replicaPool } from './data-source';
import { Database } from './database';
import { DatabaseClient } from './database-client';
import { readsCounter, replicaLag } from './database.metrics';
import { Notifications } from './notifications.service';
import type { Position, Reader, Reads, ReadServer, Send, SendElsewhere } from './reads';
import { Snapshot } from './snapshot';

const pollEveryMs = 250;
const pollTimeoutMs = 2_000;
/** Time from the start of a successful poll during which the replica may be read. */
const trustMs = 1_000;
/** Positions of the primary that are kept, for about four minutes. */
const positionsMax = 1_000;
const reconnectMs = 1_000;

/** Identifies a server and its last start. */
const serverSql = sql`select concat_ws(' ', inet_server_addr(), inet_server_port(), pg_postmaster_start_time()) as id`;
/** Identifies a primary and its standbys. */
const systemSql = sql`select system_identifier::text as system from pg_control_system()`;
/**
 * How far a standby has replayed. A standby that receives a timeline has replayed nothing that the
 * timeline lacks. Roles without `pg_read_all_stats` do not see it, and the other two follow later.
 */
const stateSql = `
  select
    pg_is_in_recovery() as is_standby,
    pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::float8 as lsn,
    greatest(checkpoint.timeline_id, recovery.min_recovery_end_timeline, receiver.received_tli) as timeline,
    pg_backend_pid() as pid
  from pg_control_checkpoint() checkpoint
  cross join pg_control_recovery() recovery
  left join pg_stat_wal_receiver receiver on true`;

interface State {
  is_standby: boolean;
  lsn: number;
  timeline: number;
  pid: number;
}

/**
 * Reads lists, statistics and exports from a standby of the primary.
 * The listening connection reports positions of the primary in its WAL, each with the time before
 * which all acknowledged commits are included. The newest position that the standby has replayed
 * tells how old its state is, without comparing the clocks of two machines.
 * A fault of the standby is never visible to a caller: the primary is read instead.
 */
@Injectable()
export class Replica implements ReadServer, OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(Replica.name);
  private readonly url: string | undefined;
  private readonly pool: Pool | undefined;
  private readonly poolMax: number;
  /** connections that run a statement */
  private readonly busy = new Set<PoolClient>();
  private readonly snapshots = new Set<Snapshot>();
  /** positions that the standby may not have replayed yet, the oldest first */
  private positions: Position[] = [];
  /** the newest position that the standby has replayed */
  private reached: Position | null = null;
  /** time of the last position that was reached, at first the start of the process */
  private reachedAt = monotonicMs();
  private trustedUntil = 0;
  /** time of the last change of each reader */
  private readonly changes: LRUCache<string, number>;
  /** latest time of a change that `changes` no longer contains */
  private forgotten = 0;
  private client: Client | null = null;
  /** server of `client` */
  private server = '';
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
    this.url = config.DATABASE_REPLICA_URL;
    // As many connections as long work has places on the primary.
    this.poolMax = Math.floor(shareOf(config.DATABASE_POOL_MAX, poolMinPerWorker) / 2);
    this.changes = new LRUCache({
      max: 10_000,
      dispose: (time, _key, reason) => {
        if (reason === 'evict') this.forgotten = Math.max(this.forgotten, time);
      },
    });
    if (this.url === undefined) return;
    this.pool = replicaPool(this.url, this.poolMax, (client) => this.identify(client));
    database.readFrom(this);
    notifications.onPosition((position) => this.positions.push(position) > positionsMax && this.positions.shift());
    notifications.onGap(() => this.lose(null));
    metrics.beforeScrape(() => replicaLag.set((monotonicMs() - this.reachedAt) / 1_000));
  }

  /** Whether there is a replica. */
  get isConfigured(): boolean {
    return this.url !== undefined;
  }

  onApplicationBootstrap(): void {
    if (this.isConfigured) void this.poll();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    this.lose('the service stops');
    clearTimeout(this.timer);
    await this.pool?.end();
  }

  /**
   * Notes that a reader changed something or saw a change. Lists that are read afterwards contain
   * all changes until now.
   */
  noteChange(reader: Reader): void {
    if (this.isConfigured) this.changes.set(keyOf(reader), monotonicMs());
  }

  /**
   * Returns the standby for a list, or null if the primary must be read.
   * @param after position of an earlier page, which the list must not be older than
   */
  reads(reader: Reader, after?: CursorPosition): Reads | null {
    const { reached, server, url } = this;
    const reason = this.reasonFor(reader, after);
    readsCounter.inc({ server: reason === null ? 'replica' : 'primary', reason: reason ?? '' });
    if (reason !== null || reached === null || url === undefined) return null;
    // Another standby, which is measured from now on, may not have reached the horizon (F37).
    const send: SendElsewhere = (query, values, primary) => this.send(server, query, values, primary);
    const cancel = (pid: number) => send({ text: 'select pg_cancel_backend($1)' }, [pid], () => Promise.resolve([]));
    return {
      ...this.database.answersFrom(send),
      horizon: reached.horizon,
      openSnapshot: async (holder, signal) => {
        try {
          const snapshot = await Snapshot.open(url, cancel, holder, signal);
          const [opened] = await snapshot.run<{ id: string }>(serverSql);
          if (opened?.id !== server) await snapshot.close();
          else {
            this.snapshots.add(snapshot);
            snapshot.onClose = () => this.snapshots.delete(snapshot);
            return snapshot;
          }
        } catch (error) {
          if (error instanceof AppError) throw error;
        }
        readsCounter.inc({ server: 'primary', reason: 'fault' });
        return this.database.openSnapshot(holder, signal);
      },
    };
  }

  private reasonFor(reader: Reader, after?: CursorPosition): string | null {
    const { reached, pool } = this;
    const now = monotonicMs();
    if (reached === null || now >= this.trustedUntil || now - reached.since >= this.config.REPLICA_LAG_MAX_MS)
      return 'lag';
    if (reached.since <= (this.changes.get(keyOf(reader)) ?? this.forgotten)) return 'own_change';
    // Without `since`, the earlier page came from an instance that does not know the replica.
    if (after !== undefined && (after.since === undefined || BigInt(after.since) > BigInt(reached.horizon.tx)))
      return 'earlier_page';
    return this.busy.size + (pool?.waitingCount ?? 0) >= this.poolMax ? 'busy' : null;
  }

  /** Sends a statement to the standby, and after a fault to the primary. */
  private async send<Row>(server: string, query: QueryConfig, values: unknown[], primary: Send): Promise<Row[]> {
    try {
      const client = await (this.pool as Pool).connect();
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
      return primary(query, values);
    }
  }

  private async poll(): Promise<void> {
    const startedAt = monotonicMs();
    try {
      const client = (this.client ??= await this.connect());
      const { rows } = await client.query<State>(stateSql);
      if (this.client === client) this.observe(rows[0] as State, startedAt);
    } catch (error) {
      this.lose((error as Error).message);
    }
    if (this.stopped) return this.lose(null);
    const pause = this.client === null ? reconnectMs : startedAt + pollEveryMs - monotonicMs();
    this.timer = setTimeout(() => void this.poll(), Math.max(0, pause)).unref();
  }

  private async connect(): Promise<Client> {
    const client = new DatabaseClient({
      connectionString: this.url,
      application_name: 'carrier-identity replica state',
      connectionTimeoutMillis: pollTimeoutMs,
      query_timeout: pollTimeoutMs,
    });
    client.on('error', ({ message }) => this.client === client && this.lose(message));
    try {
      await client.connect();
      const own = await client.query<{ system: string }>(systemSql.toQuery());
      const [primary] = await this.database.run<{ system: string }>(systemSql);
      if (own.rows[0]?.system !== primary?.system) throw new Error('the server is not a standby of the primary');
      this.server = (await client.query<{ id: string }>(serverSql.toQuery())).rows[0]?.id ?? '';
      return client;
    } catch (error) {
      client.end().catch(() => undefined);
      throw error;
    }
  }

  private observe({ is_standby, lsn, timeline, pid }: State, startedAt: number): void {
    if (!is_standby) throw new Error('the server is not a standby');
    if (pid !== (this.client as Client & { processID: number }).processID)
      throw new Error('DATABASE_REPLICA_URL leads to a pooler');
    const latest = this.positions.at(-1);
    if (latest === undefined) return;
    if (latest.timeline !== timeline)
      throw new Error(`the server follows timeline ${timeline}, not ${latest.timeline}`);
    const index = this.positions.findLastIndex((position) => position.lsn <= lsn);
    if (index >= 0) {
      this.reached = this.positions[index] as Position;
      this.reachedAt = this.reached.since;
      this.positions.splice(0, index);
      this.trustedUntil = startedAt + trustMs;
    }
    if (this.reason !== null) this.logger.warn('replica: is read again');
    this.reason = null;
  }

  /**
   * Stops reading the standby until a new connection shows its state. Running statements fail, and
   * are sent to the primary.
   * @param reason null if the primary is lost or the service stops
   */
  private lose(reason: string | null): void {
    this.reached = null;
    if (reason === null) this.positions = [];
    this.client?.end().catch(() => undefined);
    this.client = null;
    if (reason !== null) {
      for (const client of this.busy as Set<PoolClient & Pick<Client, 'end'>>) client.end().catch(() => undefined);
      for (const snapshot of this.snapshots) void snapshot.close();
      this.snapshots.clear();
    }
    if (this.stopped || reason === null || reason === this.reason) return;
    this.reason = reason;
    this.logger.warn(`replica: is not read: ${reason}`);
  }

  /** Notes the server of a new connection: a URL can lead to several standbys. */
  private async identify(client: PoolClient): Promise<void> {
    const query = { ...serverSql.toQuery(), query_timeout: pollTimeoutMs };
    this.servers.set(client, (await client.query<{ id: string }>(query)).rows[0]?.id);
  }
}

function keyOf({ actor_type, user_id }: Reader): string {
  return `${actor_type}:${user_id}`;
}
