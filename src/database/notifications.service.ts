import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Client } from 'pg';
import { monotonicMs } from '../common/clock';
import { sql } from '../common/query/sql';
import { newRequestId } from '../common/random';
import { SharedRuns } from '../common/shared-runs';
import { CONFIG, type Config } from '../config/config';
import { MetricsService } from '../metrics/metrics.service';
import { Database } from './database';
import { listenerAge } from './database.metrics';

/** Channels on which triggers announce changes (migration AddNotifications and later ones). */
export type NotificationChannel =
  'user_changed' | 'roles_changed' | 'keys_changed' | 'signing_keys_changed' | 'password_hash_costs_changed';

/** Time from the start of a successful probe during which caches may be trusted. */
const leaseMs = 1_000;
const probeEveryMs = 250;
const probeTimeoutMs = 5_000;
/** Carries a test message from the pool to the listening connection, once per connection. */
const testChannel = 'instance_proof';
const testTimeoutMs = 2_000;
const reconnectMs = 100;
const reconnectMaxMs = 2_000;

/**
 * Receives changes of all instances over a dedicated connection (LISTEN/NOTIFY), for cache
 * invalidation (ADR 0010).
 * Caches may be trusted while `isCurrent`: a recent probe succeeded on the connection. PostgreSQL
 * delivers in order, so all changes committed before the probe have arrived.
 * While the connection is lost, hangs or lags, `isCurrent` is false and requests read the database.
 */
@Injectable()
export class Notifications implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(Notifications.name);
  private readonly handlers = new Map<string, ((payload: string) => void)[]>();
  private readonly gapHandlers: (() => void)[] = [];
  private client: Client | null = null;
  private readonly probes = new SharedRuns(() => this.sendProbe());
  private trustedUntil = 0;
  /** time of the last response on the listening connection, at first the start of the process */
  private respondedAt = monotonicMs();
  private timer: NodeJS.Timeout | undefined;
  private failures = 0;
  private stopped = false;
  /** the current outage, with its start on the monotonic clock and its last logged reason */
  private outage: { since: number; reason: string | null } | null = null;

  /** test message that has been sent but not received */
  private test: { text: string; arrived: () => void } | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
    metrics: MetricsService,
  ) {
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

  /** Whether all changes up to a moment ago have arrived. Cheap enough for every request. */
  get isCurrent(): boolean {
    return monotonicMs() < this.trustedUntil;
  }

  /**
   * Waits until all committed changes have arrived in this process, or until it distrusts its
   * caches.
   */
  async caughtUp(): Promise<void> {
    if (this.isCurrent) await withinLease(this.probes.run());
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.connect();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    this.trustedUntil = 0;
    await this.client?.end().catch(() => undefined);
  }

  /** Never throws: without this connection the service reads the database instead of its caches. */
  private async connect(): Promise<void> {
    const client = new Client({
      connectionString: this.config.DATABASE_DIRECT_URL,
      application_name: 'carrier-identity notifications',
      connectionTimeoutMillis: probeTimeoutMs,
      query_timeout: probeTimeoutMs,
      keepAlive: true,
    });
    this.client = client;
    client.on('error', (error) => this.lose(client, error));
    client.on('end', () => this.lose(client, new Error('the connection was closed')));
    client.on('notification', ({ channel, payload = '' }) => {
      if (channel === testChannel && payload === this.test?.text) this.test.arrived();
      this.handlers.get(channel)?.forEach((handler) => handler(payload));
    });
    try {
      await client.connect();
      for (const channel of [testChannel, ...this.handlers.keys()]) await client.query(`listen ${channel}`);
      await this.testDelivery();
      // Entries that were cached before, or are being read now, may have missed a change.
      this.emitGap();
      await this.probes.run();
      if (this.isCurrent) this.failures = 0;
      if (this.client === client) this.logReturn();
      this.scheduleProbe(client);
    } catch (error) {
      this.lose(client, error as Error);
    }
  }

  private lose(client: Client, error: Error): void {
    if (this.client !== client) return;
    this.client = null;
    this.trustedUntil = 0;
    if (!this.stopped) this.emitGap();
    client.end().catch(() => undefined);
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
  private async testDelivery(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const arrived = new Promise<void>((resolve, reject) => {
      this.test = { text: newRequestId(), arrived: resolve };
      const hint = 'DATABASE_DIRECT_URL must bypass any pooler and lead to the database of DATABASE_URL';
      timer = setTimeout(() => reject(new Error(`no notification arrived: ${hint}`)), testTimeoutMs);
    });
    try {
      await Promise.all([arrived, this.database.run(sql`select pg_notify(${testChannel}, ${this.test?.text})`)]);
    } finally {
      clearTimeout(timer);
      this.test = null;
    }
  }

  private emitGap(): void {
    this.gapHandlers.forEach((handler) => handler());
  }

  private scheduleProbe(client: Client): void {
    if (this.client !== client) return;
    // Counted from the start of the last probe, so that slow probes do not delay the next.
    const pause = this.trustedUntil - leaseMs + probeEveryMs - monotonicMs();
    this.timer = setTimeout(
      () => void this.probes.run().then(() => this.scheduleProbe(client)),
      Math.max(0, pause),
    ).unref();
  }

  private async sendProbe(): Promise<void> {
    const { client } = this;
    if (client === null) return;
    const startedAt = monotonicMs();
    try {
      await client.query('select 1');
      this.respondedAt = monotonicMs();
      if (this.client === client && !this.stopped) this.trustedUntil = startedAt + leaseMs;
    } catch (error) {
      this.lose(client, error as Error);
    }
  }
}

/** Waits for at most one lease. Caches that were trusted at the call are no longer trusted then. */
async function withinLease(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<void>((resolve) => (timer = setTimeout(resolve, leaseMs)));
  await Promise.race([work, expired]);
  clearTimeout(timer);
}
