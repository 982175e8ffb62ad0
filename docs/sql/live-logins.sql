-- find(other_id, user_id)
select
  users.user_id, users.user_type, users.name, users.email, users.email_pending, users.email_verified_at,
  users.first_name, users.last_name, users.phone, users.job_title, users.department, users.locale, users.timezone,
  users.carrier_id, users.carrier_scope, users.roles, users.status, users.allowed_ips, users.attributes,
  users.must_change_password, users.second_factors, users.second_factor_required_from, users.created_at,
  users.created_by, users.updated_at, user_logins.last_login_at, host(user_logins.last_login_ip) as last_login_ip,
  user_seen.last_seen_at, users.password_changed_at, users.locked_until, users.deleted_at, users.version,
  coalesce((
    user_seen.last_seen_at > now() - interval '5 minutes'
    and exists (
      select
      from sessions
      where sessions.user_id = user_seen.user_id
        and (sessions.ended_at is null and sessions.expires_at > now())
        and now() - sessions.last_seen_at < interval '5 minutes'
    )
  ), false) as online,
  (users.second_factors = '{}' and (
    coalesce(users.second_factor_required_from <= now(), false)
    or users.roles && array(select roles.name from roles where roles.second_factor_required_from <= now())
  )) as must_enroll_second_factor,
  sessions.session_id, sessions.created_at as session_created_at, sessions.last_seen_at as session_last_seen_at,
  sessions.expires_at as session_expires_at,
  coalesce(sessions.auth_time, sessions.created_at) as session_auth_time,
  sessions.amr as session_amr,
  extract(epoch from now() - coalesce(sessions.auth_time, sessions.created_at))::float8 * 1000 as auth_age_ms,
  host(sessions.ip) as session_ip, sessions.user_agent as session_user_agent, sessions.token_grant,
  array(
    select distinct unnest(roles.permissions) from roles where roles.name = any(users.roles)
  ) as permissions,
  array(
    select distinct unnest(roles.may_grant) from roles where roles.name = any(users.roles)
  ) as may_grant,
  extract(epoch from sessions.expires_at - now())::float8 * 1000 as ends_in_ms,
  extract(epoch from sessions.last_seen_at + least(interval '1 minute', (sessions.expires_at - sessions.last_seen_at) / 4) - now())::float8 * 1000 as note_in_ms,
  extract(epoch from least(interval '1 minute', (sessions.expires_at - sessions.last_seen_at) / 4))::float8 * 1000 as note_every_ms,
  sessions.refreshed_at > now() - interval '1 hour' as renewable,
  extract(epoch from least(
    case when users.second_factor_required_from > now() then users.second_factor_required_from end,
    (
      select min(roles.second_factor_required_from)
      from roles
      where roles.name = any(users.roles) and roles.second_factor_required_from > now()
    )
  ) - now())::float8 * 1000 as required_in_ms
from sessions
join users on users.user_id = sessions.user_id
join user_logins on user_logins.user_id = users.user_id
join user_seen on user_seen.user_id = users.user_id
where sessions.session_id = $1::uuid
  and users.user_id = $2::uuid
  and (sessions.ended_at is null and sessions.expires_at > now())
  and users.status = 'active'
  and users.deleted_at is null;

-- findActing(user_id, other_id)
select
  users.user_id, users.user_type, users.name, users.email, users.email_pending, users.email_verified_at,
  users.first_name, users.last_name, users.phone, users.job_title, users.department, users.locale, users.timezone,
  users.carrier_id, users.carrier_scope, users.roles, users.status, users.allowed_ips, users.attributes,
  users.must_change_password, users.second_factors, users.second_factor_required_from, users.created_at,
  users.created_by, users.updated_at, user_logins.last_login_at, host(user_logins.last_login_ip) as last_login_ip,
  user_seen.last_seen_at, users.password_changed_at, users.locked_until, users.deleted_at, users.version,
  coalesce((
    <as in find>
  ), false) as online,
  (users.second_factors = '{}' and (
    coalesce(users.second_factor_required_from <= now(), false)
    or users.roles && array(select roles.name from roles where roles.second_factor_required_from <= now())
  )) as must_enroll_second_factor,
  array(
    select distinct unnest(roles.permissions) from roles where roles.name = any(users.roles)
  ) as permissions,
  array(
    select distinct unnest(roles.may_grant) from roles where roles.name = any(users.roles)
  ) as may_grant,
  sessions.token_grant
from users
join user_logins on user_logins.user_id = users.user_id
join user_seen on user_seen.user_id = users.user_id
left join sessions on sessions.session_id = $1::uuid
where users.user_id = $2::uuid and users.status = 'active' and users.deleted_at is null;

-- note([ { session_id: other_id, user_id: user_id, ago_ms: 500 } ], { system: 1800, carrier: 360...
with
  activity as (
    select session_id, user_id, now() - ago_ms * interval '1 millisecond' as seen_at
    from unnest($1::uuid[], $2::uuid[], $3::float8[])
      as activity (session_id, user_id, ago_ms)
  ),
  locked_seen as (
    select user_id
    from user_seen
    where user_id = any($4::uuid[])
    order by user_id
    for no key update skip locked
  ),
  used as (
    select activity.session_id, activity.user_id, activity.seen_at
    from activity
    join locked_seen on locked_seen.user_id = activity.user_id
  ),
  due as (
    select sessions.session_id, used.seen_at
    from sessions
    join used on used.session_id = sessions.session_id and used.user_id = sessions.user_id
    where sessions.session_id = any($5::uuid[])
      and (sessions.ended_at is null and sessions.expires_at > now())
      and sessions.last_seen_at + least(interval '1 minute', (sessions.expires_at - sessions.last_seen_at) / 4) / 2 < used.seen_at
    order by sessions.session_id
    for no key update of sessions skip locked
  ),
  noted as (
    update sessions
    set
      last_seen_at = due.seen_at,
      expires_at = greatest(sessions.expires_at, least(
        sessions.absolute_expires_at,
        due.seen_at + interval '1 second' * case sessions.user_type
          when 'system' then $6::integer
          else $7::integer
        end
      ))
    from due
    where sessions.session_id = due.session_id
    returning sessions.user_id, due.seen_at
  ),
  seen as (
    select user_id, max(seen_at) as seen_at
    from noted
    group by user_id
  )
update user_seen
set last_seen_at = greatest(user_seen.last_seen_at, seen.seen_at)
from seen
where user_seen.user_id = seen.user_id;
