import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Client } from 'pg';
import { monotonicMs } from '../common/clock';
import { sql } from '../common/query/sql';
import { newRequestId } from '../common/random';
import { CONFIG, type Config } from '../config/config';
import { Database } from './database';

/**
 * What the database tells of (migration AddNotifications): whose state has changed, or that all of
 * a kind may have.
 */
export type NotificationChannel =
  'user_changed' | 'roles_changed' | 'keys_changed' | 'signing_keys_changed' | 'password_hash_costs_changed';

/**
 * An answer over the listening connection proves that nothing is missing for this long, from when
 * it was asked for.
 */
const leaseMs = 1_000;
const probeEveryMs = 250;
const answerWithinMs = 5_000;
/** Sent over the connection of requests once, and to be heard over the listening one. */
const proofChannel = 'instance_proof';
const proofWithinMs = 2_000;
const reconnectMs = 100;
const reconnectMaxMs = 2_000;

/**
 * What other transactions have changed, as PostgreSQL tells it (LISTEN/NOTIFY) over a connection of
 * its own. Caches may be trusted while `isCurrent`: the connection has answered a moment ago, and
 * it delivers in order, so that whatever was committed before the question has arrived. When the
 * connection is lost, hangs or lags, `isCurrent` is false until it has caught up, and every answer
 * comes from the database (ADR 0010).
 */
@Injectable()
export class Notifications implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(Notifications.name);
  private readonly handlers = new Map<string, ((payload: string) => void)[]>();
  private readonly gapHandlers: (() => void)[] = [];
  private client: Client | null = null;
  private trustedUntil = 0;
  private probing: Promise<void> | null = null;
  private nextProbe: Promise<void> | null = null;
  private timer: NodeJS.Timeout | undefined;
  private failures = 0;
  private stopped = false;

  /** what was sent over another connection, and has not arrived yet */
  private proof: { text: string; arrived: () => void } | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
  ) {}

  /** Says who is told of changes. Call it before the service starts. */
  on(channel: NotificationChannel, handler: (payload: string) => void): void {
    this.handlers.set(channel, [...(this.handlers.get(channel) ?? []), handler]);
  }

  /** Says who is told that something may have been missed: whatever is cached must go. */
  onGap(handler: () => void): void {
    this.gapHandlers.push(handler);
  }

  /**
   * Whether everything that was committed until a moment ago has arrived. One comparison: for every
   * request.
   */
  get isCurrent(): boolean {
    return monotonicMs() < this.trustedUntil;
  }

  /**
   * Waits until all that has been committed so far has arrived here, or this instance has stopped
   * trusting its caches.
   */
  async caughtUp(): Promise<void> {
    if (!this.isCurrent) return;
    let impatient: NodeJS.Timeout | undefined;
    const lapsed = new Promise<void>((resolve) => (impatient = setTimeout(resolve, leaseMs)));
    await Promise.race([this.probe(), lapsed]);
    clearTimeout(impatient);
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

  /** Never fails: without a connection the service works, it only asks the database more often. */
  private async connect(): Promise<void> {
    const client = new Client({
      connectionString: this.config.DATABASE_DIRECT_URL,
      application_name: 'carrier-identity notifications',
      connectionTimeoutMillis: answerWithinMs,
      query_timeout: answerWithinMs,
      keepAlive: true,
    });
    this.client = client;
    client.on('error', (error) => this.lose(client, error));
    client.on('end', () => this.lose(client, new Error('the connection was closed')));
    client.on('notification', ({ channel, payload = '' }) => {
      if (channel === proofChannel && payload === this.proof?.text) this.proof.arrived();
      this.handlers.get(channel)?.forEach((handler) => handler(payload));
    });
    try {
      await client.connect();
      for (const channel of [proofChannel, ...this.handlers.keys()]) await client.query(`listen ${channel}`);
      await this.prove();
      // what was cached before, or is being read at this moment, may have missed a change
      this.tellGap();
      await this.probe();
      if (this.isCurrent) this.failures = 0;
      this.scheduleProbe(client);
    } catch (error) {
      this.lose(client, error as Error);
    }
  }

  private lose(client: Client, error: Error): void {
    if (this.client !== client) return;
    this.client = null;
    this.trustedUntil = 0;
    if (!this.stopped) this.tellGap();
    client.end().catch(() => undefined);
    clearTimeout(this.timer);
    if (this.stopped) return;
    this.logger.warn(`notifications: lost the connection: ${error.message}`);
    const pause = Math.min(reconnectMs * 2 ** this.failures++, reconnectMaxMs);
    this.timer = setTimeout(() => void this.connect(), pause).unref();
  }

  /**
   * A pooler takes LISTEN, answers every question, and delivers nothing; nor does another database.
   * So what requests change must be heard here before anything is believed.
   */
  private async prove(): Promise<void> {
    let late: NodeJS.Timeout | undefined;
    const arrived = new Promise<void>((resolve, reject) => {
      this.proof = { text: newRequestId(), arrived: resolve };
      late = setTimeout(
        () =>
          reject(
            new Error(
              'nothing arrives: DATABASE_DIRECT_URL must lead past any pooler, to the database of DATABASE_URL',
            ),
          ),
        proofWithinMs,
      );
    });
    try {
      await Promise.all([arrived, this.database.run(sql`select pg_notify(${proofChannel}, ${this.proof?.text})`)]);
    } finally {
      clearTimeout(late);
      this.proof = null;
    }
  }

  private tellGap(): void {
    this.gapHandlers.forEach((handler) => handler());
  }

  private scheduleProbe(client: Client): void {
    if (this.client !== client) return;
    // counted from the last question, so that slow answers do not come the later
    const pause = this.trustedUntil - leaseMs + probeEveryMs - monotonicMs();
    this.timer = setTimeout(() => void this.probe().then(() => this.scheduleProbe(client)), Math.max(0, pause)).unref();
  }

  /**
   * One question at a time; who comes while one is under way shares the next, since that one may
   * have been asked before what they wait for.
   */
  private probe(): Promise<void> {
    if (this.probing !== null) this.nextProbe ??= this.probing.then(() => this.ask());
    return this.nextProbe ?? this.ask();
  }

  private ask(): Promise<void> {
    this.nextProbe = null;
    this.probing = this.askNow().finally(() => (this.probing = null));
    return this.probing;
  }

  private async askNow(): Promise<void> {
    const { client } = this;
    if (client === null) return;
    const askedAt = monotonicMs();
    try {
      await client.query('select 1');
      if (this.client === client && !this.stopped) this.trustedUntil = askedAt + leaseMs;
    } catch (error) {
      this.lose(client, error as Error);
    }
  }
}
