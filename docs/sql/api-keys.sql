-- findActive(hash)
select
  keys.key_id, keys.created_by, keys.user_type, keys.carrier_id, keys.carrier_scope, keys.permissions, secret.expires_at, secret.is_previous,
  coalesce(
    case when secret.is_previous then keys.previous_last_used_at else keys.last_used_at end
    <= now() - interval '1 minute',
    true
  ) as stale,
  extract(epoch from secret.expires_at - now())::float8 * 1000 as expires_in_ms
from keys
cross join lateral (
  select
    keys.token_hash <> $1::bytea as is_previous,
    case
      when keys.token_hash <> $2::bytea then least(keys.expires_at, keys.previous_until)
      else keys.expires_at
    end as expires_at
) secret
where (keys.token_hash = $3::bytea or keys.previous_hash = $4::bytea)
  and (keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now())
  and secret.expires_at > now();

-- findActiveById(other_id)
select
  keys.key_id, keys.created_by, keys.user_type, keys.carrier_id, keys.carrier_scope, keys.permissions, keys.expires_at
from keys
where keys.key_id = $1::uuid and (keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now());

-- touch(other_id, '192.0.2.1', false)
update keys
set
  last_used_at = now(),
  last_used_ip = coalesce($1::inet, last_used_ip),
  previous_last_used_at = case when $2::boolean then now() else previous_last_used_at end
where key_id in (
  select key_id
  from keys
  where key_id = $3::uuid and coalesce(
    case when $4::boolean then keys.previous_last_used_at else keys.last_used_at end
    <= now() - interval '1 minute',
    true
  )
  for no key update skip locked
);

-- hasPortalWithin('203.0.113.0/24')
select exists (
  select
  from keys
  where (keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now())
    and keys.permissions && '{login:forward,*}'
    and keys.last_used_at > now() - interval '1 day'
    and keys.last_used_ip <<= $1::inet
) as found;

-- insert({ key_id: other_id, name: 'billing', token_hash: hash, permissions: [ 'user:read' ], us...
insert into keys (
  key_id, name, token_hash, permissions, user_type, carrier_id, carrier_scope, created_by, expires_at
)
select
  $1::uuid, $2::text, $3::bytea, $4::text[], $5::text,
  $6::text, $7::text[], $8::uuid, requested.expires_at
from (select $9::timestamptz(3) as expires_at) requested, sessions
where requested.expires_at > now() and requested.expires_at <= now() + interval '1 year'
  and sessions.session_id = $10::uuid and sessions.ended_at is null
for no key update of sessions
returning
  keys.key_id, keys.name, keys.permissions, keys.user_type, keys.carrier_id, keys.carrier_scope,
  (keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now()) as active, keys.created_at, keys.created_by, keys.expires_at,
  keys.last_used_at, host(keys.last_used_ip) as last_used_ip, keys.revoked_at, keys.revoked_by, keys.suspended_at,
  case when keys.previous_until > now() then keys.previous_until end as previous_until,
  case when keys.previous_until > now() then keys.previous_last_used_at end as previous_last_used_at;

-- find(other_id, limited)
select
  keys.key_id, keys.name, keys.permissions, keys.user_type, keys.carrier_id, keys.carrier_scope,
  (keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now()) as active, keys.created_at, keys.created_by, keys.expires_at,
  keys.last_used_at, host(keys.last_used_ip) as last_used_ip, keys.revoked_at, keys.revoked_by, keys.suspended_at,
  case when keys.previous_until > now() then keys.previous_until end as previous_until,
  case when keys.previous_until > now() then keys.previous_last_used_at end as previous_last_used_at
from keys
where keys.key_id = $1::uuid and (
  (keys.user_type = 'carrier' and keys.carrier_id = any($2::text[]))
  or keys.created_by = $3::uuid
);

-- list(limited, { active: 'true', permission: 'user:read', order_by: 'last_used_at' })
with page as materialized (
  select
    <columns of find>,
    (keys.last_used_at)::text as cursor_value,
    keys.last_used_at as sort_value
  from keys
  where (
    (keys.user_type = 'carrier' and keys.carrier_id = any($1::text[]))
    or keys.created_by = $2::uuid
  )
    and ((keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now()) = $3::boolean)
    and (keys.permissions @> array[$4::text])
    and keys.last_used_at is not null
  order by keys.last_used_at desc, keys.key_id desc
  limit $5
)
select
  *
from page
order by sort_value desc, page.key_id desc
limit $6;
with page as materialized (
  select
    <columns of find>,
    (keys.last_used_at)::text as cursor_value,
    keys.last_used_at as sort_value
  from keys
  where (
    (keys.user_type = 'carrier' and keys.carrier_id = any($1::text[]))
    or keys.created_by = $2::uuid
  )
    and ((keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now()) = $3::boolean)
    and (keys.permissions @> array[$4::text])
    and keys.last_used_at is null
  order by keys.last_used_at desc, keys.key_id desc
  limit $5
)
select
  *
from page
order by sort_value desc, page.key_id desc
limit $6;

-- listReceived(user_id)
select keys.key_id, keys.name, keys.permissions, received.at as received_at
from keys
cross join lateral (
  select max(at) as at
  from (
    select keys.created_at as at
    where keys.created_by = $1::uuid
    union all
    select keys.rotated_at
    where keys.rotated_by = $2::uuid
    union all
    select occurred_at
    from events
    where keys.previous_until > now()
      and event_type = 'key.rotated'
      and target_id = keys.key_id
      and actor_id = $3::uuid
  ) receipts
) received
where received.at is not null and (keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now())
order by received_at desc, keys.key_id desc;

-- rotate({ key_id: other_id, token_hash: hash, expires_at: null, rotated_by: user_id }, 86400, o...
update keys
set
  token_hash = $1::bytea,
  previous_hash = case when $2::integer > 0 then keys.token_hash end,
  previous_until = case
    when $3::integer > 0
    then least(keys.expires_at, now() + $4::integer * interval '1 second')
  end,
  previous_last_used_at = null,
  expires_at = coalesce(requested.expires_at, keys.expires_at),
  rotated_at = now(),
  rotated_by = $5::uuid
from
  (select $6::timestamptz(3) as expires_at) requested,
  (
    select session_id
    from sessions
    where session_id = $7::uuid and ended_at is null
    for no key update
  ) session
where keys.key_id = $8::uuid
  and (keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now())
  and (requested.expires_at is null or requested.expires_at > now() and requested.expires_at <= now() + interval '1 year')
returning
  <columns of insert>

-- suspendAll()
update keys
set suspended_at = now()
where (keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now())
returning key_id;
