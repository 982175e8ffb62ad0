-- findClaimed({ login: 'user@example.com' })
select users.user_id, users.carrier_id
from users
where lower(users.email) = $1::text and users.deleted_at is null
limit 1;

-- find(user_id)
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
  case
    when users.status <> 'invited' and not coalesce(credentials.expires_at <= now(), false)
    then credentials.password_hash
  end as password_hash,
  users.status <> 'active' as rejected,
  coalesce(credentials.policy_checked, false) as policy_checked,
  credentials.expires_at is not null as initial
from users
join user_logins on user_logins.user_id = users.user_id
join user_seen on user_seen.user_id = users.user_id
left join credentials on credentials.user_id = users.user_id
where users.user_id = $1::uuid and users.deleted_at is null;

-- lockForLogin(user_id, null, '192.0.2.1')
select
  case
    when deleted_at is not null or status <> 'active' or password_changed_at is distinct from $1::timestamptz
    then 'auth.invalid_credentials'
    when cardinality(allowed_ips) > 0 and not coalesce($2::inet <<= any(allowed_ips), false)
    then 'auth.ip_not_allowed'
  end as rejection,
  second_factors, carrier_id,
  array(
    select distinct unnest(roles.permissions) from roles where roles.name = any(users.roles)
  ) as permissions,
  array(
    select distinct unnest(roles.may_grant) from roles where roles.name = any(users.roles)
  ) as may_grant,
  now() as locked_at
from users, (select set_config('lock_timeout', '2s', true) offset 0) patience
where user_id = $3::uuid
for no key update of users;

-- findForLogin(user_id, null, '192.0.2.1')
select
  case
    when deleted_at is not null or status <> 'active' or password_changed_at is distinct from $1::timestamptz
    then 'auth.invalid_credentials'
    when cardinality(allowed_ips) > 0 and not coalesce($2::inet <<= any(allowed_ips), false)
    then 'auth.ip_not_allowed'
  end as rejection,
  second_factors, carrier_id,
  array(
    select distinct unnest(roles.permissions) from roles where roles.name = any(users.roles)
  ) as permissions,
  array(
    select distinct unnest(roles.may_grant) from roles where roles.name = any(users.roles)
  ) as may_grant
from users
where user_id = $3::uuid;

-- lock(user_id)
select second_factors
from users, (select set_config('lock_timeout', '2s', true) offset 0) patience
where user_id = $1::uuid
for no key update of users;

-- noteLogin({ user_id: user_id, ip: '192.0.2.1', unlocks: false })
with
  unlocked as (
    update users
    set locked_until = null
    where user_id = $1::uuid
      and locked_until is not null
      and $2::boolean
    returning users.*
  ),
  logged_in as (
    update user_logins
    set last_login_at = now(), last_login_ip = $3::inet
    where user_id = $4::uuid
    returning user_id, last_login_at, last_login_ip
  ),
  -- Follows from logged_in, because rows of user_logins are locked first.
  seen as (
    update user_seen
    set last_seen_at = greatest(user_seen.last_seen_at, now())
    from logged_in
    where user_seen.user_id = logged_in.user_id
    returning user_seen.user_id, user_seen.last_seen_at
  )
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
  (
    users.second_factors = '{}'
    and exists (
      select 1
      from enrollment_codes
      where enrollment_codes.user_id = users.user_id and enrollment_codes.after_reset
    )
  ) as factors_were_reset
from (
  select * from unlocked
  union all
  select * from users where user_id = $5::uuid and not exists (select from unlocked)
) users
join logged_in user_logins on user_logins.user_id = users.user_id
join seen user_seen on user_seen.user_id = users.user_id;

-- demandPasswordChange(user_id, eventBase)
with demanded as (
  update users
  set must_change_password = true, email_pending = null, updated_at = now(), version = version + 1
  where user_id = $1::uuid and not must_change_password
  returning user_id, carrier_id, version
)
insert into events (
  event_type, actor_id, actor_type, target_type, operation_id, session_id, ip, request_id,
  target_id, carrier_id, changes, target_version
)
select
  $2, $3::uuid, $4, $5, $6::uuid, $7::uuid,
  $8::inet, $9,
  target.id, target.carrier_id, target.changes, target.version
from (
  select
    user_id as id, carrier_id,
    '{"must_change_password": {"before": false, "after": true}}'::jsonb as changes,
    version
  from demanded
) target;

-- noteLock(user_id, 2027-01-01T00:00:00.000Z)
update users
set locked_until = $1::timestamptz
where user_id = $2::uuid;
