import { Injectable } from '@nestjs/common';
import { sql } from '../common/query/sql';
import { Database } from '../database/database';

/** A job that is added to the queue. */
export interface Job {
  payload: object;
  /** at most one job with this key waits; without a key, any number */
  key?: string;
  /** seconds until the job runs; without it, the job runs as soon as possible */
  delay_seconds?: number;
}

/** The SQL that puts jobs into the queue. */
@Injectable()
export class JobsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Adds jobs of a name in the current transaction. A job replaces the waiting job with the same
   * key, but a delayed job never replaces one that runs earlier.
   */
  async add(name: string, jobs: Job[]): Promise<void> {
    await this.database
      .run(sql`select count(graphile_worker.add_job(${name}, payload => job.payload, job_key => job.key, max_attempts => 25,
        run_at => now() + job.delay_seconds * interval '1 second'))
      from json_to_recordset(${JSON.stringify(jobs)}::json) as job (payload json, key text, delay_seconds integer)
      where job.delay_seconds is null or not exists (select 1 from graphile_worker.jobs waiting where waiting.key = job.key
        and waiting.locked_at is null and waiting.attempts < waiting.max_attempts
        and waiting.run_at <= now() + job.delay_seconds * interval '1 second')`);
  }

  /** Takes a job that has not run yet out of the queue again. */
  async remove(key: string): Promise<void> {
    await this.database.run(sql`select graphile_worker.remove_job(${key})`);
  }

  /** Lets jobs run again whose process has died, or could not tell that it was done with them. */
  async releaseAbandoned(afterSeconds: number): Promise<void> {
    await this.database.run(
      sql`select graphile_worker.force_unlock_workers(array(
        select distinct locked_by from graphile_worker.jobs where locked_at < now() - make_interval(secs => ${afterSeconds})))`,
    );
  }
}
