import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { monotonicMs } from '../clock';
import { sql } from '../../http/lists/sql';
import { newRequestId } from '../random';
import { AppError } from '../../http/errors/app-error';
import { SharedRuns } from '../shared-runs';
import { within } from '../within';
import { CONFIG, type Config } from '../config/config';
import { MetricsService } from '../metrics/metrics.service';
import { CommitLease } from './commit-lease';
import { Database } from './database';
import { closeDead, DatabaseClient, refuseConnections, replaceConnections } from './database-client';
import { listenerAge } from './database.metrics';
import { checkServer, RestoredFault } from './database-server';
import type { Horizon, Position } from './reads';

/** Channels on which triggers announce changes (migration AddNotifications and later ones). */
export type NotificationChannel =
  'user_changed' | 'roles_changed' | 'keys_changed' | 'signing_keys_changed' | 'address_blocks_changed';

/** Time from the start of a successful probe during which caches may be trusted. */
const leaseMs = 1_000;
const probeEveryMs = 250;
const probeTimeoutMs = 5_000;
/** Announces the new history of a database after a restore. */
const restoredChannel = 'database_restored';
/** Carries a test message from the pool to the listening connection, once per connection. */
const testChannel = 'instance_proof';
const testTimeoutMs = 2_000;
/** Time of the server, and the number of the oldest transaction that was running then. */
const horizonSql = 'select feed_horizon()::text as tx, now() as at';
/**
 * The horizon, and a position after all its commits: the snapshot is taken first. It is where WAL
 * is inserted, because commits of roles with `synchronous_commit = off` are written later.
 */
const positionSql = `${horizonSql},
  pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as lsn,
  ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer as timeline`;
/** Differs between a primary and its promoted standby. */
const serverSql = 'select pg_postmaster_start_time()::text as id';
const reconnectMs = 100;
/** Short, because checks of tokens continue only when the connections are back. */
const reconnectMaxMs = 1_000;

/**
 * Receives changes of all instances over a dedicated connection (LISTEN/NOTIFY), for cache
 * invalidation (ADR 0010).
 * Caches may be trusted while `isCurrent`: a recent probe succeeded on the connection. PostgreSQL
 * delivers in order, so all changes committed before the probe have arrived.
 * While the connection is lost, hangs or lags, `isCurrent` is false and requests read the database.
 * A second connection to the same server renews the `CommitLease`. While commits wait for standbys,
 * they do not block the notifications.
 */
@Injectable()
export class Notifications implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(Notifications.name);
  private readonly handlers = new Map<string, ((payload: string) => void)[]>();
  private readonly gapHandlers: (() => void)[] = [];
  private positionHandler: ((position: Position) => void) | null = null;
  private client: DatabaseClient | null = null;
  private committer: DatabaseClient | null = null;
  private readonly lease: CommitLease;
  private renewal = Promise.resolve();
  /** id of the history of the database: a restore begins another one */
  history = '';
  private readonly probes = new SharedRuns(() => this.sendProbe());
  private trustedUntil = 0;
  private probed: Horizon | null = null;
  /** time of the last response on the listening connection, at first the start of the process */
  private respondedAt = monotonicMs();
  private timer: NodeJS.Timeout | undefined;
  private failures = 0;
  private stopped = false;
  /** the current outage, with its start on the monotonic clock and its last logged reason */
  private outage: { since: number; reason: string | null } | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
    metrics: MetricsService,
  ) {
    this.lease = new CommitLease(config.LIVE_LOGIN_LEASE_SECONDS * 1_000);
    metrics.beforeScrape(() => listenerAge.set((monotonicMs() - this.respondedAt) / 1_000));
  }

  /** Registers a handler for a channel. Call it before the service starts. */
  on(channel: NotificationChannel, handler: (payload: string) => void): void {
    this.handlers.set(channel, [...(this.handlers.get(channel) ?? []), handler]);
  }

  /** Registers a handler for possibly missed changes. The handler must clear its cache. */
  onGap(handler: () => void): void {
    this.gapHandlers.push(handler);
  }

  /** Registers a handler for positions of the primary. Each probe then reads one. */
  onPosition(handler: (position: Position) => void): void {
    this.positionHandler = handler;
  }

  /** Whether all changes up to a moment ago have arrived. Cheap enough for every request. */
  get isCurrent(): boolean {
    return monotonicMs() < this.trustedUntil && this.lease.isHeld;
  }

  /** Returns a moment of the last second, without a query; null if the last probe failed. */
  get horizon(): Horizon | null {
    return this.isCurrent ? this.probed : null;
  }

  /**
   * Returns a moment after this call, or null while the connection is lost. All changes that were
   * committed before it have arrived.
   */
  async nextHorizon(): Promise<Horizon | null> {
    await this.probes.run();
    return this.horizon;
  }

  /**
   * Rejects work that needs the newest state of the database if the server may be an old primary.
   * Waits up to a second for a renewal of the lease, which can be late after a suspend.
   * @throws service.database_unavailable
   */
  async assertLease(): Promise<void> {
    const renewed = () => this.probes.run().then(() => this.renewal);
    if (!this.lease.isHeld) await within(leaseMs, renewed(), () => undefined);
    if (!this.lease.isHeld) throw new AppError('service.database_unavailable');
  }

  /**
   * Waits until all committed changes have arrived in this process, or until it distrusts its
   * caches.
   */
  async caughtUp(): Promise<void> {
    // Caches that are trusted now are no longer trusted after a second.
    if (this.isCurrent) await within(leaseMs, this.probes.run(), () => undefined);
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.connect();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    this.trustedUntil = 0;
    this.committer?.end().catch(() => undefined);
    await this.client?.end().catch(() => undefined);
  }

  /** Never throws: without the connections, requests read the database until the lease ends. */
  private async connect(): Promise<void> {
    const client = (this.client = this.open('notifications'));
    const committer = this.open('lease');
    client.on('notification', ({ channel, payload = '' }) => {
      if (channel === restoredChannel) this.history = payload;
      this.handlers.get(channel)?.forEach((handler) => handler(payload));
    });
    try {
      await Promise.all([client.connect(), committer.connect()]);
      for (const channel of [testChannel, restoredChannel, ...this.handlers.keys()])
        await client.query(`listen ${channel}`);
      const [one, other] = await Promise.all([client, committer].map((each) => each.query<{ id: string }>(serverSql)));
      if (one?.rows[0]?.id !== other?.rows[0]?.id) throw new Error('the connections lead to different servers');
      this.history = await checkServer(client, this.logger);
      refuseConnections(null);
      // Connections of the pool may still lead to an old primary.
      replaceConnections();
      // The commit is first: while commits wait, the test message can wait too.
      await this.lease.take(committer, () => this.testDelivery(client));
      if (this.client !== client) throw new Error('the connection was lost');
      this.committer = committer;
      // Entries that were cached before, or are being read now, may have missed a change.
      this.emitGap();
      await this.probes.run();
      if (this.isCurrent) this.failures = 0;
      if (this.client === client) this.logReturn();
      this.scheduleProbe(client);
    } catch (error) {
      if (error instanceof RestoredFault) refuseConnections(error);
      this.lose(client, error as Error);
      committer.end().catch(() => undefined);
    }
  }

  private open(purpose: string): DatabaseClient {
    const client = new DatabaseClient({
      connectionString: this.config.DATABASE_DIRECT_URL,
      application_name: `carrier-identity ${purpose}`,
      query_timeout: probeTimeoutMs,
      options: closeDead,
    });
    client.on('error', (error) => this.lose(client, error));
    return client.on('end', () => this.lose(client, new Error('the connection was closed')));
  }

  /** Replaces both connections, because the next ones may lead to another server. */
  private lose(client: DatabaseClient, error: Error): void {
    const both = [this.client, this.committer];
    if (!both.includes(client)) return;
    client.forgetPrimary();
    this.client = this.committer = null;
    this.trustedUntil = 0;
    if (!this.stopped) this.emitGap();
    for (const each of both) each?.end().catch(() => undefined);
    clearTimeout(this.timer);
    if (this.stopped) return;
    this.logLoss(error);
    const pause = Math.min(reconnectMs * 2 ** this.failures++, reconnectMaxMs);
    this.timer = setTimeout(() => void this.connect(), pause).unref();
  }

  /** Logs each reason of an outage once, not each attempt to connect. */
  private logLoss(error: NodeJS.ErrnoException): void {
    this.outage ??= { since: monotonicMs(), reason: null };
    // The error of a host with several addresses has no message.
    const reason = error.message || (error.code ?? error.name);
    if (reason === this.outage.reason) return;
    this.outage.reason = reason;
    this.logger.warn(`database: lost the connection: ${reason}`);
  }

  /** Logs at level `warn`, so that `LOG_LEVEL=warn` shows the end of an outage, too. */
  private logReturn(): void {
    if (this.outage === null) return;
    const seconds = Math.ceil((monotonicMs() - this.outage.since) / 1_000);
    this.outage = null;
    this.logger.warn(`database: connected again after ${seconds} s`);
  }

  /**
   * Sends a test message through the pool of the requests. A pooler, or another database, accepts
   * LISTEN and responds to probes but delivers no notifications.
   */
  private async testDelivery(client: DatabaseClient): Promise<void> {
    const text = newRequestId();
    const arrived = new Promise<void>((resolve) => {
      client.on('notification', ({ payload }) => payload === text && resolve());
    });
    const sent = this.database.run(sql`select pg_notify(${testChannel}, ${text})`);
    await within(testTimeoutMs, Promise.all([arrived, sent]), () => {
      const hint = 'DATABASE_DIRECT_URL must bypass any pooler and lead to the database of DATABASE_URL';
      throw new Error(`no notification arrived: ${hint}`);
    });
  }

  private emitGap(): void {
    this.gapHandlers.forEach((handler) => handler());
  }

  private scheduleProbe(client: DatabaseClient): void {
    if (this.client !== client) return;
    // Counted from the start of the last probe, so that slow probes do not delay the next.
    const pause = this.trustedUntil - leaseMs + probeEveryMs - monotonicMs();
    this.timer = setTimeout(
      () => void this.probes.run().then(() => this.scheduleProbe(client)),
      Math.max(0, pause),
    ).unref();
  }

  private async sendProbe(): Promise<void> {
    const { client, committer } = this;
    if (client === null || committer === null) return;
    const startedAt = monotonicMs();
    try {
      const { positionHandler } = this;
      const { rows } = await client.query<Horizon & Position>(positionHandler === null ? horizonSql : positionSql);
      this.respondedAt = monotonicMs();
      if (this.client === client && !this.stopped) {
        const { tx, at, lsn, timeline } = rows[0] as Horizon & Position;
        this.probed = { tx, at };
        positionHandler?.({ since: startedAt, lsn, timeline, horizon: this.probed });
        this.trustedUntil = startedAt + leaseMs;
      }
      if (this.lease.isDue) {
        const lose = (error: Error) => this.lose(client, error);
        this.renewal = this.lease.renew(committer).catch(lose);
        client.assertPrimary().catch(lose);
      }
    } catch (error) {
      this.lose(client, error as Error);
    }
  }
}
