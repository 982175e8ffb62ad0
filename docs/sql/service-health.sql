-- read()
select mail.figures as mail, jobs.figures as jobs, webhooks.figures as webhooks, server.figures as database
from
  (
    select json_build_object(
      'waiting', count(*) filter (where state <> 'failed'),
      'failing', count(*) filter (where state <> 'failed' and failing),
      'failed', count(*) filter (where state = 'failed'),
      'unusable', count(*) filter (where state <> 'failed' and last_error ~ $1),
      'oldest_seconds',
      coalesce(floor(extract(epoch from now() - min(created_at) filter (where state <> 'failed'))), 0)
    ) as figures
    from (
      select
        jobs.job_id as mail_id,
        jobs.payload ->> 'mail' as kind,
        case jobs.state when 'running' then 'sending' else jobs.state end as state,
        users.user_id, users.user_type, users.name, users.carrier_id,
        coalesce(
          jobs.payload ->> 'email',
          case when jobs.payload ->> 'mail' = 'email-confirmation' then users.email_pending end,
          users.email
        ) as recipient,
        jobs.attempts, jobs.last_error,
        jobs.attempts - (jobs.state = 'running')::integer >= 2
        or coalesce(jobs.last_error ~ $2, false) as failing,
        jobs.created_at, jobs.next_attempt_at
      from (
        select
          ('00000000-0000-8000-8000-' || lpad(to_hex(job.id), 12, '0'))::uuid as job_id,
          job.payload,
          case
            when job.locked_at is not null then 'running'
            when job.attempts >= job.max_attempts then 'failed'
            when job.attempts > 0 then 'retrying'
            else 'waiting'
          end as state,
          job.attempts, job.last_error,
          job.created_at::timestamptz(3) as created_at,
          case
            when job.locked_at is null and job.attempts < job.max_attempts then job.run_at::timestamptz(3)
          end as next_attempt_at
        from graphile_worker._private_jobs job
        join graphile_worker._private_tasks task on task.id = job.task_id
        where task.identifier = $3
      ) jobs
      join users on users.user_id = (jobs.payload ->> 'user_id')::uuid and users.deleted_at is null
    ) mails
  ) mail,
  (
    select json_build_object(
      'overdue', count(*) filter (where state <> 'failed' and since < now() - interval '10 minutes'),
      'failed', count(*) filter (where state = 'failed'),
      'oldest_seconds',
      coalesce(floor(extract(epoch from now() - min(since) filter (
        where state <> 'failed' and since < now() - interval '10 minutes'
      ))), 0)
    ) as figures
    from (
      select case
        when job.locked_at is not null then 'running'
        when job.attempts >= job.max_attempts then 'failed'
        when job.attempts > 0 then 'retrying'
        else 'waiting'
      end as state, coalesce(job.locked_at, job.run_at) as since
      from graphile_worker._private_jobs job
      join graphile_worker._private_tasks task on task.id = job.task_id
      where task.identifier <> $4
      union all
      select 'waiting', greatest(due_at, as_of + interval '1 minute')
      from overview_refreshes
    ) job
  ) jobs,
  (
    select json_build_object(
      'disabled', count(*) filter (where disabled_reason <> 'requested'),
      'failing', count(*) filter (where state = 'failing'),
      'behind_seconds', coalesce(floor(max((
        select extract(epoch from now() - events.occurred_at)
        from events
        where events.target_type in ('user', 'session', 'role', 'key') and (events.tx, events.event_id) > (webhooks.place_tx::xid8, webhooks.place_id)
        order by events.tx, events.event_id
        limit 1
      )) filter (where state <> 'disabled')), 0)
    ) as figures
    from webhooks
  ) webhooks,
  (
    select json_build_object(
      'size_bytes', pg_database_size(current_database()),
      'connections', count(*),
      'connections_max', current_setting('max_connections')::integer
    ) as figures
    from pg_stat_activity
    where backend_type = 'client backend'
  ) server;
