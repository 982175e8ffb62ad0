-- find(other_id, limited)
select
  mails.mail_id, mails.kind, mails.state, mails.user_id, mails.name, mails.carrier_id, mails.recipient,
  mails.attempts, mails.last_error, mails.failing, mails.created_at, mails.next_attempt_at
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
where mails.mail_id = $3::uuid and (
  (mails.user_type = 'carrier' and mails.carrier_id = any($4::text[]))
  or mails.user_id = $5::uuid
);

-- list(administrator, {})
with page as materialized (
  select
    mails.mail_id, mails.kind, mails.state, mails.user_id, mails.name, mails.carrier_id, mails.recipient,
    mails.attempts, mails.last_error, mails.failing, mails.created_at, mails.next_attempt_at,
    (mails.created_at)::text as cursor_value,
    mails.created_at as sort_value
  from (
    <as in find>
  ) mails
  where true
  order by mails.created_at desc, mails.mail_id desc
  limit 51
)
select
  *
from page
order by sort_value desc, page.mail_id desc
limit 51;

-- list(carrierUser, { state_in: 'retrying,failed', recipient_like: 'example' })
with page as materialized (
  select
    <columns of list>
  from (
    <as in find>
  ) mails
  where (mails.user_type = 'carrier' and mails.carrier_id = $3::text)
    and (mails.state = any($4::text[]))
    and mails.recipient ilike $5::text
  order by mails.created_at desc, mails.mail_id desc
  limit $6
)
select
  *
from page
order by sort_value desc, page.mail_id desc
limit $7;

-- listOf(user_id, 10)
select
  mails.mail_id, mails.kind, mails.state, mails.user_id, mails.name, mails.carrier_id, mails.recipient,
  mails.attempts, mails.last_error, mails.failing, mails.created_at, mails.next_attempt_at
from (
  <as in find>
) mails
where mails.user_id = $3::uuid
order by mails.created_at desc, mails.mail_id desc
limit $4::integer;

-- countByState()
select case jobs.state when 'running' then 'sending' else jobs.state end as state, count(*)::integer as count
from (
  <as in find>
) jobs
group by 1;

-- listLinks([ user_id ])
select
  users.user_id, users.email,
  case
    when users.status = 'active' then 'voided'
    else case
      when link.user_id is null then 'none'
      when link.expires_at is null then 'unsent'
      when link.expires_at > now() then 'valid'
      else 'expired'
    end
  end as state
from users
left join credentials on credentials.user_id = users.user_id
left join one_time_tokens link on link.user_id = users.user_id and link.purpose = 'invite'
where users.user_id = any($1::uuid[])
  and users.deleted_at is null
  and case users.status
    when 'active' then credentials.user_id is not null and credentials.password_hash is null
    else users.status = 'invited'
  end
order by users.user_id;
