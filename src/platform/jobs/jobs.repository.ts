import { Injectable } from '@nestjs/common';
import { sql } from '../../http/lists/sql';
import { Database } from '../database/database';
import { jobStateSql } from './jobs.sql';

/** A job for the queue. */
export interface Job {
  payload: object;
  /** limits the queue to one waiting job with this key */
  key?: string;
  /** seconds until the job runs; by default it runs as soon as possible */
  delay_seconds?: number;
}

/** Number and age of the jobs of a task and state. */
export interface JobCount {
  task: string;
  /** `waiting`, `running`, `retrying` or `failed` */
  state: string;
  count: number;
  /** time since the oldest job was due, or since the lock of a running job was renewed */
  age_seconds: number;
}

/** SQL of the job queue. */
@Injectable()
export class JobsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Adds jobs of a name, with different keys, in the current transaction. A job replaces the
   * waiting job with the same key. A delayed job is skipped if a job with the same key runs
   * earlier.
   */
  async add(name: string, jobs: Job[], priority: number): Promise<void> {
    await this.database.runPrepared(sql`
      select count(*)
      from (
        select array_agg((
          ${name}::text, payload, null, now() + delay_seconds * interval '1 second', 25, key, ${priority}::integer, null
        )::graphile_worker.job_spec) as specs
        from json_to_recordset(${JSON.stringify(jobs)}::json) as job (payload json, key text, delay_seconds float8)
        where delay_seconds is null
          or not exists (
            select 1
            from graphile_worker.jobs waiting
            where waiting.key = job.key
              and waiting.locked_at is null
              and waiting.attempts < waiting.max_attempts
              and waiting.run_at <= now() + delay_seconds * interval '1 second'
          )
        having count(*) > 0
      ) batch
      cross join graphile_worker.add_jobs(batch.specs)`);
  }

  async remove(keys: string[]): Promise<void> {
    await this.database.run(sql`
      select count(graphile_worker.remove_job(key))
      from unnest(${keys}::text[]) key`);
  }

  /** Removes the waiting jobs whose key contains one of these ids after its first colon. */
  async removeOf(ids: string[]): Promise<void> {
    await this.database.run(sql`
      select count(graphile_worker.remove_job(key))
      from graphile_worker.jobs
      where split_part(key, ':', 2) = any(${ids}::text[])`);
  }

  /**
   * Schedules a job to run now and resets its attempts. Returns false if the job is running or has
   * ended.
   * @param job_id column `job_id` of `jobsSql`
   */
  async runNow(job_id: string): Promise<boolean> {
    const rows = await this.database.run(sql`
      select id
      from graphile_worker.reschedule_jobs(
        array[('x' || right(${job_id}::uuid::text, 12))::bit(48)::bigint],
        run_at => now(),
        attempts => 0
      )`);
    return rows.length > 0;
  }

  /** Returns whether the server of the requests shows that a worker runs a job. */
  async isRunBy(worker_id: string, id: string): Promise<boolean> {
    const rows = await this.database.runPrepared(sql`
      select id
      from graphile_worker._private_jobs
      where id = ${id}::bigint and locked_by = ${worker_id}`);
    return rows.length > 0;
  }

  /** Counts the jobs in the queue. Reads all of them, since finished jobs are deleted. */
  async countByState(): Promise<JobCount[]> {
    return this.database.run<JobCount>(sql`
      select
        task.identifier as task,
        ${jobStateSql} as state,
        count(*)::integer as count,
        greatest(0, extract(epoch from now() - min(coalesce(job.locked_at, job.run_at))))::float8 as age_seconds
      from graphile_worker._private_jobs job
      join graphile_worker._private_tasks task on task.id = job.task_id
      group by 1, 2`);
  }

  /** Renews the locks that a worker pool has on jobs and their queues, and returns their ids. */
  async renew(ids: string[], pool_id: string): Promise<string[]> {
    const rows = await this.database.runPrepared<{ id: string }>(sql`
      with jobs as (
        update graphile_worker._private_jobs
        set locked_at = now()
        where id = any(${ids}::bigint[]) and locked_by = ${pool_id}::text
        returning id, job_queue_id
      ),
      queues as (
        update graphile_worker._private_job_queues queues
        set locked_at = now()
        from jobs
        where queues.id = jobs.job_queue_id and queues.locked_by = ${pool_id}::text
      )
      select id::text
      from jobs`);
    return rows.map(({ id }) => id);
  }

  /** Unlocks the jobs and queues that have been locked for longer than a number of seconds. */
  async releaseAbandoned(afterSeconds: number): Promise<void> {
    // Not by worker id: all jobs of a process share it, so running jobs would run twice.
    const abandoned = sql`locked_at < now() - make_interval(secs => ${afterSeconds})`;
    await this.database.run(sql`
      with jobs as (
        update graphile_worker._private_jobs set locked_at = null, locked_by = null where ${abandoned}
      )
      update graphile_worker._private_job_queues set locked_at = null, locked_by = null where ${abandoned}`);
  }
}
