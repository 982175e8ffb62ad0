import { sql, type SqlFragment } from '../../http/lists/sql';

/** Renders the state of a row `job` of Graphile Worker, see `jobsSql`. */
export const jobStateSql = sql`case
          when job.locked_at is not null then 'running'
          when job.attempts >= job.max_attempts then 'failed'
          when job.attempts > 0 then 'retrying'
          else 'waiting'
        end`;

/**
 * Renders the FROM item `jobs`: the jobs with a name, including failed jobs. Finished jobs are
 * deleted.
 * Reads private tables of Graphile Worker, because its public view lacks the payload.
 * Columns: `job_id`, a UUID (version 8) derived from the number of the job, which stays the same
 * when the job is retried; `payload`; `state`: `waiting` for the first attempt, `retrying` after a
 * failed attempt, `running`, `failed` after the last attempt; `attempts`; `last_error`;
 * `created_at`; `next_attempt_at`.
 */
export function jobsSql(name: string): SqlFragment {
  return sql`(
      select
        ('00000000-0000-8000-8000-' || lpad(to_hex(job.id), 12, '0'))::uuid as job_id,
        job.payload,
        ${jobStateSql} as state,
        job.attempts,
        job.last_error,
        job.created_at::timestamptz(3) as created_at,
        case
          when job.locked_at is null and job.attempts < job.max_attempts then job.run_at::timestamptz(3)
        end as next_attempt_at
      from graphile_worker._private_jobs job
      join graphile_worker._private_tasks task on task.id = job.task_id
      where task.identifier = ${name}
    ) jobs`;
}
