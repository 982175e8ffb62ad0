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
  type Task,
  type WorkerEvents,
  Logger as WorkerLogger,
  type WorkerPool,
} from 'graphile-worker';
import { monotonicMs } from '../clock';
import { runsJobs } from '../instance';
import { LoggedError } from '../log/log';
import { CONFIG, type Config } from '../config/config';
import { monitored, requestTimeouts } from '../database/data-source';
import { closeDead, type DatabaseClient } from '../database/database-client';
import { showPool } from '../database/database.metrics';
import { MetricsService } from '../metrics/metrics.service';
import { inNewTrace, isTracing, traceHeaders } from '../tracing/spans';
import { JobsPool } from './jobs-pool';
import { jobAge, jobsQueued } from './jobs.metrics';
import { type Job, JobsRepository } from './jobs.repository';
import { Streak } from './streak';

/**
 * Runs one job. If it throws, the job is retried with exponential back-off. A job that takes more
 * than five minutes is considered hung and runs again.
 */
export type JobHandler = (payload: Record<string, unknown>) => Promise<void>;

/** Time for running jobs to end when the service stops. Unfinished jobs return to the queue. */
const stopTimeoutMs = 4_000;
/** A process renews the locks of its jobs at this interval. */
const renewEveryMs = 10_000;
/** A job whose lock is older is considered abandoned by a killed process. */
const abandonedAfterSeconds = 40;
/** Time after an outage in which other processes can renew their locks before any is released. */
const steadyMs = 2.5 * renewEveryMs;
/** A job that runs for longer is considered hung: its lock is no longer renewed. */
const hungMs = 300_000;
const probeEveryMs = 5_000;
/** Number of jobs that run at the same time in one process. */
const concurrency = 3;
/** Assumed duration of a job until this process has run one. */
const assumedMs = 1_000;

/**
 * Runs work that must survive a crash of this process. Jobs are stored in PostgreSQL, in the
 * transaction of the change that enqueues them.
 */
@Injectable()
export class JobsService implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger(JobsService.name);
  private readonly handlers = new Map<string, JobHandler>();
  private readonly recurring: CronItem[] = [];
  /** start of the jobs that this process holds, by id */
  private readonly held = new Map<string, number>();
  /** ids of held jobs that ended, and whose result may not be stored yet */
  private readonly ended = new Set<string>();
  private readonly renewals = new Streak(1.5 * renewEveryMs);
  /** moving average of the duration of jobs, by name */
  private readonly durationsMs = new Map<string, number>();
  private pool: JobsPool | null = null;
  private runner: Runner | null = null;
  private workers: WorkerPool | null = null;
  private stopped: Promise<void> | null = null;
  private renewal: NodeJS.Timeout | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly jobs: JobsRepository,
    metrics: MetricsService,
  ) {
    metrics.beforeScrape(() => this.pool !== null && showPool('jobs', this.pool));
    metrics.sample(
      [jobsQueued, jobAge],
      () => this.jobs.countByState(),
      (rows) =>
        rows.forEach(({ task, state, count, age_seconds }) => {
          jobsQueued.set({ task, state }, count);
          jobAge.set({ task, state }, age_seconds);
        }),
    );
  }

  /** Registers the handler for the jobs of a name. Call it when a module starts. */
  handle(name: string, handler: JobHandler): void {
    this.handlers.set(name, handler);
  }

  /**
   * Registers a recurring job. Call it when a module starts.
   * All instances together enqueue the job once per scheduled time, and never run it twice at once.
   * A failed job is retried. A time at which no instance was running is skipped.
   * @param when crontab expression in UTC: `7 * * * *` is seven minutes past each hour
   */
  every(when: string, name: string, handler: () => Promise<void>): void {
    this.handle(name, handler);
    const options = { queueName: name, jobKey: name, jobKeyMode: 'preserve_run_at' as const, maxAttempts: 5 };
    this.recurring.push({ task: name, match: when, options });
  }

  /** Enqueues a job. It runs after the current transaction commits, and not after a rollback. */
  async enqueue(name: string, payload: Record<string, unknown>, key?: string): Promise<void> {
    await this.enqueueMany(name, [key === undefined ? { payload } : { payload, key }]);
  }

  /**
   * Enqueues jobs of a name. A delayed job is skipped if a job with the same key runs earlier.
   * @param priority of the jobs that are due, those with the lowest number run first
   */
  async enqueueMany(name: string, jobs: Job[], priority = 0): Promise<void> {
    const cause = traceHeaders();
    await this.jobs.add(
      name,
      isTracing() ? jobs.map((job) => ({ ...job, payload: { ...job.payload, ...cause } })) : jobs,
      priority,
    );
  }

  /** Cancels the waiting jobs with these keys. */
  async cancel(keys: string[]): Promise<void> {
    await this.jobs.remove(keys);
  }

  /** Cancels the waiting jobs whose key contains one of these ids as its second part. */
  async cancelOf(ids: string[]): Promise<void> {
    await this.jobs.removeOf(ids);
  }

  /**
   * Schedules a waiting or failed job to run now and resets its attempts. Returns false if the job
   * is running or has ended.
   */
  runNow(job_id: string): Promise<boolean> {
    return this.jobs.runNow(job_id);
  }

  /**
   * Returns the seconds after which this process ends one more job of a name, as measured so far.
   * Several run at the same time.
   */
  secondsPerJob(name: string): number {
    return (this.durationsMs.get(name) ?? assumedMs) / 1_000 / concurrency;
  }

  /** Runs jobs. With several workers, only worker 1 runs jobs. */
  async onApplicationBootstrap(): Promise<void> {
    if (!runsJobs) return;
    this.pool = new JobsPool({
      connectionString: this.config.DATABASE_DIRECT_URL,
      max: 4,
      application_name: 'carrier-identity jobs',
      options: closeDead,
      ...monitored(),
      ...requestTimeouts,
    });
    const onError = (error: Error) => this.logger.warn(`jobs: lost a connection: ${error.message}`);
    this.pool.on('error', onError).on('connect', (client) => client.on('error', onError));
    const events = new EventEmitter() as WorkerEvents;
    events.on('pool:create', ({ workerPool }) => {
      this.workers = workerPool;
    });
    events.on('pool:listen:success', ({ client }) => probe(client as unknown as DatabaseClient));
    this.runner = await run({
      events,
      pgPool: this.pool,
      taskList: Object.fromEntries([...this.handlers].map(([name, handler]) => [name, this.timed(name, handler)])),
      parsedCronItems: parseCronItems(this.recurring),
      concurrency,
      pollInterval: 2_000,
      noHandleSignals: true,
      logger: this.workerLogger(),
    });
    void this.renewLocks();
    this.renewal = setInterval(() => void this.renewLocks(), renewEveryMs).unref();
    this.runner.promise.catch((error: unknown) => this.logger.error(`jobs: stopped: ${String(error)}`));
  }

  /** Stops taking jobs while running requests finish. */
  onModuleDestroy(): void {
    clearInterval(this.renewal);
    this.stopped = this.stopWorkers();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.stopped;
    await this.pool?.end();
  }

  /** Returns a handler that measures its duration. Failed attempts count too. */
  private timed(name: string, handler: JobHandler): Task {
    return async (payload, { job }) => {
      // During a failover, connections of jobs and of requests can lead to two servers. On an old
      // primary, the job would not find the user that it is about, and would end without effect.
      if (!(await this.jobs.isRunBy(String(job.locked_by), job.id))) throw new Error('the job is on another server');
      const start = monotonicMs();
      this.ended.delete(job.id);
      this.held.set(job.id, start);
      const work = () => handler(payload as Record<string, unknown>);
      await inNewTrace(`job ${name}`, { kind: 'CONSUMER' }, payload as object, work).finally(() => {
        this.ended.add(job.id);
        const took = monotonicMs() - start;
        this.durationsMs.set(name, 0.9 * (this.durationsMs.get(name) ?? took) + 0.1 * took);
      });
    };
  }

  /**
   * Renews the locks of jobs until their results are stored, which an outage delays. Releases the
   * locks of killed processes.
   */
  private async renewLocks(): Promise<void> {
    const now = monotonicMs();
    const ended = [...this.ended];
    const ids = [...this.held].filter(([, start]) => now - start < hungMs).map(([id]) => id);
    try {
      const renewed = new Set(await this.jobs.renew(ids, this.workers?.id ?? ''));
      for (const id of ended) {
        if (renewed.has(id) || !this.ended.delete(id)) continue;
        this.held.delete(id);
      }
      if (this.renewals.extend(now) > steadyMs) await this.jobs.releaseAbandoned(abandonedAfterSeconds);
    } catch (error) {
      this.logger.warn(`jobs: ${String(error)}`);
    }
  }

  /** Stops the workers. A hanging job neither delays the shutdown nor stays locked afterwards. */
  private async stopWorkers(): Promise<void> {
    const force = async () => this.workers?.forcefulShutdown('the service stops');
    const timer = setTimeout(() => void force().catch(() => undefined), stopTimeoutMs);
    await this.runner?.stop().catch(() => undefined);
    clearTimeout(timer);
  }

  /** Logs only the first line of errors: further lines contain the payload of failed jobs. */
  private workerLogger(): WorkerLogger {
    return new WorkerLogger(() => (level, message, { job, error } = {}) => {
      if (String(level) !== 'error') return;
      const msg = `jobs: ${message.split('\n')[0]?.slice(0, 300) ?? ''}`;
      const fields = error instanceof LoggedError ? error.fields : {};
      this.logger.warn({ msg, job_id: (job as { id: string } | undefined)?.id, ...fields });
    });
  }
}

/**
 * Probes the connection that listens for new jobs. It is closed if it is silent for 16 s, or if it
 * may lead to an old primary.
 */
function probe(client: DatabaseClient): void {
  const query = async () => {
    if (client.isReplaced) client.emit('error', new Error('it may lead to an old primary'));
    else await client.query('select 1').then(() => probe(client));
  };
  setTimeout(() => void query().catch(() => undefined), probeEveryMs).unref();
}
