import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { type Runner, run, Logger as WorkerLogger } from 'graphile-worker';
import { Pool } from 'pg';
import { CONFIG, type Config } from '../config/config';
import { JobsRepository } from './jobs.repository';

/** Does one job; throwing lets it be tried again later, with growing pauses. */
export type JobHandler = (payload: Record<string, unknown>) => Promise<void>;

/** Work that must happen even if this process dies: kept in PostgreSQL, enqueued in the transaction of the change that asks for it. */
@Injectable()
export class JobsService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(JobsService.name);
  private readonly handlers = new Map<string, JobHandler>();
  private pool: Pool | null = null;
  private runner: Runner | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly jobs: JobsRepository,
  ) {}

  /** Says who does the jobs of a name. Called by modules when they start. */
  handle(name: string, handler: JobHandler): void {
    this.handlers.set(name, handler);
  }

  /** Enqueues a job; it runs after the current transaction has committed, or not at all. */
  async enqueue(name: string, payload: Record<string, unknown>, key?: string): Promise<void> {
    await this.jobs.add(name, payload, key ?? null);
  }

  async onApplicationBootstrap(): Promise<void> {
    this.pool = new Pool({ connectionString: this.config.DATABASE_DIRECT_URL, max: 4, application_name: 'carrier-identity jobs' });
    const onError = (error: Error) => this.logger.warn(`jobs: lost a connection: ${error.message}`);
    this.pool.on('error', onError).on('connect', (client) => client.on('error', onError));
    const taskList = Object.fromEntries(
      [...this.handlers].map(([name, handler]) => [name, (payload: unknown) => handler(payload as Record<string, unknown>)]),
    );
    this.runner = await run({
      pgPool: this.pool,
      taskList,
      concurrency: 3,
      pollInterval: 2_000,
      noHandleSignals: true,
      logger: this.workerLogger(),
    });
    this.runner.promise.catch((error: unknown) => this.logger.error(`jobs: stopped: ${String(error)}`));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.runner?.stop().catch(() => undefined);
    await this.pool?.end();
  }

  /** The worker's own messages repeat the payload of failed jobs; only level and job name go on. */
  private workerLogger(): WorkerLogger {
    return new WorkerLogger(() => (level, message) => {
      if (String(level) === 'error') this.logger.warn(`jobs: ${message.split('\n')[0]?.slice(0, 300) ?? ''}`);
    });
  }
}
