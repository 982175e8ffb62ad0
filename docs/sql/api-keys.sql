-- findActive(hash)
select
  keys.key_id, keys.created_by, keys.user_type, keys.carrier_id, keys.carrier_scope, keys.permissions, keys.expires_at,
  coalesce(keys.last_used_at <= now() - interval '1 minute', true) as stale,
  extract(epoch from keys.expires_at - now())::float8 * 1000 as expires_in_ms
from keys
where keys.token_hash = $1::bytea and (keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now());

-- findActiveById(other_id)
select
  <columns of findActive>
from keys
where keys.key_id = $1::uuid and (keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now());

-- touch(other_id, '192.0.2.1')
update keys
set last_used_at = now(), last_used_ip = coalesce($1::inet, last_used_ip)
where key_id in (
  select key_id
  from keys
  where key_id = $2::uuid and coalesce(keys.last_used_at <= now() - interval '1 minute', true)
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
  keys.last_used_at, host(keys.last_used_ip) as last_used_ip, keys.revoked_at, keys.revoked_by, keys.suspended_at;

-- find(other_id, limited)
select
  keys.key_id, keys.name, keys.permissions, keys.user_type, keys.carrier_id, keys.carrier_scope,
  (keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now()) as active, keys.created_at, keys.created_by, keys.expires_at,
  keys.last_used_at, host(keys.last_used_ip) as last_used_ip, keys.revoked_at, keys.revoked_by, keys.suspended_at
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

-- listCreated(user_id)
select keys.key_id, keys.name, keys.created_at, keys.permissions
from keys
where keys.created_by = $1::uuid and (keys.revoked_at is null and keys.suspended_at is null and keys.expires_at > now())
order by keys.created_at desc, keys.key_id desc;
