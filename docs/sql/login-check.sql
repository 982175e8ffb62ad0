-- find(user_id, administrator, true)
select
  users.status, users.deleted_at, users.second_factors, users.allowed_ips, users.must_change_password,
  (users.second_factors = '{}' and (
    coalesce(users.second_factor_required_from <= now(), false)
    or users.roles && array(select roles.name from roles where roles.second_factor_required_from <= now())
  )) as must_enroll_second_factor,
  user_logins.last_login_at,
  case
    when credentials.user_id is null then 'none'
    when credentials.password_hash is null then 'voided'
    when coalesce(credentials.expires_at <= now(), false) then 'expired'
    else 'valid'
  end as password,
  credentials.expires_at as password_expires_at,
  case
    when link.user_id is null then 'none'
    when link.expires_at is null then 'unsent'
    when link.expires_at > now() then 'valid'
    else 'expired'
  end as invitation,
  link.requested_at as invited_at, link.expires_at as invitation_expires_at
from users
join user_logins on user_logins.user_id = users.user_id
left join credentials on credentials.user_id = users.user_id
left join one_time_tokens link on link.user_id = users.user_id and link.purpose = 'invite'
where users.user_id = $1::uuid
  and (users.deleted_at is null or $2::boolean)
  and true;

-- find(user_id, carrierUser, false)
select
  <columns of find>
from users
join user_logins on user_logins.user_id = users.user_id
left join credentials on credentials.user_id = users.user_id
left join one_time_tokens link on link.user_id = users.user_id and link.purpose = 'invite'
where users.user_id = $1::uuid
  and (users.deleted_at is null or $2::boolean)
  and (users.user_type = 'carrier' and users.carrier_id = $3::text);

-- listEvents(user_id, administrator)
with newest as (
  select *
  from events
  where target_id = $1::uuid
    and target_type in ('user', 'login')
    and events.occurred_at > now() - interval '9600 hours'
  order by occurred_at desc, event_id desc
  limit $2::integer
),
  found as (
    select
      *,
      case
        when event_type = 'user.deleted' then 'deleted'
        when changes -> 'status' ->> 'after' = 'disabled' then 'disabled'
        when event_type = 'user.secured' then 'secured'
        when event_type = 'login.locked' then 'locked'
        when event_type in ('login.failed', 'login.second_factor_failed') then 'refused'
      end as kind
    from newest
  ),
  ranked as (
    select *, row_number() over (partition by kind order by occurred_at desc, event_id desc) as rank
    from found
    where kind is not null
  )
select
  ranked.kind, ranked.event_type, ranked.occurred_at, ranked.actor_type, ranked.actor_id,
  case ranked.actor_type
    when 'user' then (
      select acting.name
      from users acting
      where acting.user_id = ranked.actor_id and true
    )
    when 'key' then (
      select acting.name
      from keys acting
      where acting.key_id = ranked.actor_id and true
    )
  end as actor_name,
  ranked.operation_id, host(ranked.ip) as ip,
  ranked.changes -> 'reason' ->> 'after' as reason,
  cardinality(allowed_ips) > 0 and not coalesce(ranked.ip <<= any(allowed_ips), false) as outside
from ranked
join users on users.user_id = $3::uuid
where ranked.rank <= $4::integer
order by ranked.occurred_at desc, ranked.event_id desc;

-- listEvents(user_id, carrierUser)
with newest as (
  <as in listEvents>
),
  found as (
    <as in listEvents>
  ),
  ranked as (
    <as in listEvents>
  )
select
  ranked.kind, ranked.event_type, ranked.occurred_at, ranked.actor_type, ranked.actor_id,
  case ranked.actor_type
    when 'user' then (
      select acting.name
      from users acting
      where acting.user_id = ranked.actor_id and (acting.user_type = 'carrier' and acting.carrier_id = $3::text)
    )
    when 'key' then (
      select acting.name
      from keys acting
      where acting.key_id = ranked.actor_id and (acting.user_type = 'carrier' and acting.carrier_id = $4::text)
    )
  end as actor_name,
  ranked.operation_id, host(ranked.ip) as ip,
  ranked.changes -> 'reason' ->> 'after' as reason,
  cardinality(allowed_ips) > 0 and not coalesce(ranked.ip <<= any(allowed_ips), false) as outside
from ranked
join users on users.user_id = $5::uuid
where ranked.rank <= $6::integer
order by ranked.occurred_at desc, ranked.event_id desc;
