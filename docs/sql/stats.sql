-- refreshCounts()
with
  users_by_status as (
    select
      carrier_id, user_type, status,
      count(*) as users,
      count(*) filter (where locked_until > now()) as locked,
      count(*) filter (where status = 'active' and (users.second_factors = '{}' and (
        coalesce(users.second_factor_required_from <= now(), false)
        or users.roles && array(select roles.name from roles where roles.second_factor_required_from <= now())
      ))) as must_enroll
    from users
    where deleted_at is null
    group by carrier_id, user_type, status
  ),
  parts as (
    select carrier_id, user_type, part.kind, part.count
    from users_by_status
    cross join lateral (
      values (status, users), ('locked', locked), ('must_enroll', must_enroll)
    ) as part (kind, count)
    union all
    select carrier_id, user_type, 'sessions', count(*)
    from sessions
    where (sessions.ended_at is null and sessions.expires_at > now())
    group by carrier_id, user_type
    union all
    select carrier_id, user_type, case state when 'failed' then 'mails_failed' else 'mails_failing' end, count(*)
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
        or coalesce(jobs.last_error ~ $1, false) as failing,
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
        where task.identifier = $2
      ) jobs
      join users on users.user_id = (jobs.payload ->> 'user_id')::uuid and users.deleted_at is null
    ) mails
    where state = 'failed' or failing
    group by 1, 2, 3
  ),
  counted as (
    select coalesce(carrier_id, '') as carrier_id, user_type, kind, sum(count)::integer as count
    from parts
    where count > 0
    group by 1, 2, 3
  ),
  removed as (
    delete from overview_counts
    where not exists (
      select
      from counted
      where counted.carrier_id = overview_counts.carrier_id
        and counted.user_type = overview_counts.user_type
        and counted.kind = overview_counts.kind
    )
  )
insert into overview_counts (carrier_id, user_type, kind, count)
select carrier_id, user_type, kind, count
from counted
on conflict (carrier_id, user_type, kind) do update set count = excluded.count
where overview_counts.count <> excluded.count;

-- listCounts(limited)
select user_type, kind, sum(count)::integer as count
from overview_counts
where (
  (user_type = 'carrier' and carrier_id = any($1::text[]))
  or null::uuid = $2::uuid
)
group by user_type, kind;

-- listLogins(limited)
select
  hours.hour,
  coalesce(sum(succeeded), 0)::integer as succeeded,
  coalesce(sum(failed), 0)::integer as failed
from generate_series(
  date_trunc('hour', now(), 'UTC') - interval '23 hours',
  now(),
  interval '1 hour'
) as hours (hour)
left join login_counts on login_counts.hour = hours.hour
  and (
    ('carrier' = 'carrier' and carrier_id = any($1::text[]))
    or null::uuid = $2::uuid
  )
group by hours.hour
order by hours.hour;

-- countRunning({ scope: limited, permissions: [ 'user:update' ] })
select count(*)::integer as count
from operations
where finished_at is null
  and operations.permission = any($1::text[])
  and (
    $2::boolean
    or (operations.actor_type = $3 and operations.actor_id = $4::uuid)
  );

-- countExpiringKeys(limited, 14)
select
  count(keys.key_id)::integer as count,
  times.until
from (select (now() + make_interval(days => $1::integer))::timestamptz(3) as until) times
left join keys on (keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now()) and keys.expires_at <= times.until
  and (
    (keys.user_type = 'carrier' and keys.carrier_id = any($2::text[]))
    or keys.created_by = $3::uuid
  )
group by times.until;

-- countWebhooks(limited)
select
  count(*) filter (where disabled_reason <> 'requested')::integer as disabled,
  count(*) filter (where state = 'failing')::integer as failing
from webhooks
where (
  (webhooks.user_type = 'carrier' and webhooks.carrier_id = any($1::text[]))
  or webhooks.created_by = $2::uuid
);
