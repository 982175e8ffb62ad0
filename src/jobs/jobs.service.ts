import { EventEmitter } from 'node:events';
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import {
  type CronItem,
  parseCronItems,
  type Runner,
  run,
  type WorkerEvents,
  Logger as WorkerLogger,
  type WorkerPool,
} from 'graphile-worker';
import { CONFIG, type Config } from '../config/config';
import { JobsPool } from './jobs-pool';
import { type Job, JobsRepository } from './jobs.repository';

/**
 * Does one job; throwing lets it be tried again later, with growing pauses. One that takes more
 * than five minutes is taken for abandoned, and run again.
 */
export type JobHandler = (payload: Record<string, unknown>) => Promise<void>;

/** Jobs that run when the service stops have this long; then they go back into the queue. */
const stopPatienceMs = 4_000;
/** A job locked for so long belongs to a process that was killed. */
const abandonedAfterSeconds = 300;
const releaseEveryMs = 60_000;

/**
 * Work that must happen even if this process dies: kept in PostgreSQL, enqueued in the transaction
 * of the change that asks for it.
 */
@Injectable()
export class JobsService implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger(JobsService.name);
  private readonly handlers = new Map<string, JobHandler>();
  private readonly recurring: CronItem[] = [];
  private pool: JobsPool | null = null;
  private runner: Runner | null = null;
  private workers: WorkerPool | null = null;
  private stopped: Promise<void> | null = null;
  private release: NodeJS.Timeout | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly jobs: JobsRepository,
  ) {}

  /** Says who does the jobs of a name. Called by modules when they start. */
  handle(name: string, handler: JobHandler): void {
    this.handlers.set(name, handler);
  }

  /**
   * Says who does a job that comes again and again. However many instances there are, it is
   * enqueued once each time, and no two of it run at once. One that fails is tried again; a time at
   * which no instance ran is left out. Called by modules when they start.
   * @param when five fields as in a crontab, in UTC: `7 * * * *` is seven minutes past each hour
   */
  every(when: string, name: string, handler: () => Promise<void>): void {
    this.handle(name, handler);
    const options = { queueName: name, jobKey: name, jobKeyMode: 'preserve_run_at' as const, maxAttempts: 5 };
    this.recurring.push({ task: name, match: when, options });
  }

  /** Enqueues a job; it runs after the current transaction has committed, or not at all. */
  async enqueue(name: string, payload: Record<string, unknown>, key?: string): Promise<void> {
    await this.jobs.add(name, [key === undefined ? { payload } : { payload, key }]);
  }

  /**
   * Enqueues many jobs of a name. A delayed job is dropped if a job with the same key runs earlier.
   */
  async enqueueMany(name: string, jobs: Job[]): Promise<void> {
    await this.jobs.add(name, jobs);
  }

  /** Takes back a job that was enqueued with this key and has not run yet. */
  async cancel(key: string): Promise<void> {
    await this.jobs.remove(key);
  }

  async onApplicationBootstrap(): Promise<void> {
    this.pool = new JobsPool({
      connectionString: this.config.DATABASE_DIRECT_URL,
      max: 4,
      application_name: 'carrier-identity jobs',
    });
    const onError = (error: Error) => this.logger.warn(`jobs: lost a connection: ${error.message}`);
    this.pool.on('error', onError).on('connect', (client) => client.on('error', onError));
    const taskList = Object.fromEntries(
      [...this.handlers].map(([name, handler]) => [
        name,
        (payload: unknown) => handler(payload as Record<string, unknown>),
      ]),
    );
    const events = new EventEmitter() as WorkerEvents;
    events.on('pool:create', ({ workerPool }) => {
      this.workers = workerPool;
    });
    this.runner = await run({
      events,
      pgPool: this.pool,
      taskList,
      parsedCronItems: parseCronItems(this.recurring),
      concurrency: 3,
      pollInterval: 2_000,
      noHandleSignals: true,
      logger: this.workerLogger(),
    });
    this.release = setInterval(() => void this.releaseAbandoned(), releaseEveryMs).unref();
    this.runner.promise.catch((error: unknown) => this.logger.error(`jobs: stopped: ${String(error)}`));
  }

  /** Takes no further job while the requests under way are finished. */
  onModuleDestroy(): void {
    clearInterval(this.release);
    this.stopped = this.stopWorkers();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.stopped;
    await this.pool?.end();
  }

  private async releaseAbandoned(): Promise<void> {
    await this.jobs
      .releaseAbandoned(abandonedAfterSeconds)
      .catch((error: unknown) => this.logger.warn(`jobs: ${String(error)}`));
  }

  /**
   * A job that hangs (a mail server that does not answer) must not hold up the end, nor stay locked
   * after it.
   */
  private async stopWorkers(): Promise<void> {
    const force = async () => this.workers?.forcefulShutdown('the service stops');
    const impatient = setTimeout(() => void force().catch(() => undefined), stopPatienceMs);
    await this.runner?.stop().catch(() => undefined);
    clearTimeout(impatient);
  }

  /** The worker's own messages repeat the payload of failed jobs; only level and job name go on. */
  private workerLogger(): WorkerLogger {
    return new WorkerLogger(() => (level, message) => {
      if (String(level) === 'error') this.logger.warn(`jobs: ${message.split('\n')[0]?.slice(0, 300) ?? ''}`);
    });
  }
}
