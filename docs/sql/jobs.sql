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
