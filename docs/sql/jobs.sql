-- The statements of JobsRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/jobs.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- add('mail', [ { payload: { mail: 'password-changed' }, key: 'example', delay_seconds: 60 } ], 0)
select count(*)
from (
  select array_agg((
    $1::text, payload, null, now() + delay_seconds * interval '1 second', 25, key, $2::integer, null
  )::graphile_worker.job_spec) as specs
  from json_to_recordset($3::json) as job (payload json, key text, delay_seconds float8)
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
cross join graphile_worker.add_jobs(batch.specs);

-- remove([ 'example' ])
select count(graphile_worker.remove_job(key))
from unnest($1::text[]) key;

-- removeOf([ user_id ])
select count(graphile_worker.remove_job(key))
from graphile_worker.jobs
where split_part(key, ':', 2) = any($1::text[]);

-- runNow('00000000-0000-8000-8000-0000000000ff')
select id
from graphile_worker.reschedule_jobs(
  array[('x' || right($1::uuid::text, 12))::bit(48)::bigint],
  run_at => now(),
  attempts => 0
);

-- countByState()
select
  task.identifier as task,
  case
    when job.locked_at is not null then 'running'
    when job.attempts >= job.max_attempts then 'failed'
    when job.attempts > 0 then 'retrying'
    else 'waiting'
  end as state,
  count(*)::integer as count,
  greatest(0, extract(epoch from now() - min(coalesce(job.locked_at, job.run_at))))::float8 as age_seconds
from graphile_worker._private_jobs job
join graphile_worker._private_tasks task on task.id = job.task_id
group by 1, 2;

-- releaseAbandoned(600)
with jobs as (
  update graphile_worker._private_jobs set locked_at = null, locked_by = null where locked_at < now() - make_interval(secs => $1)
)
update graphile_worker._private_job_queues set locked_at = null, locked_by = null where locked_at < now() - make_interval(secs => $2);
