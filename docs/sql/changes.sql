-- findEnd()
select
  feed_horizon()::text as tx,
  now()::timestamptz(3) as at,
  coalesce((
    select greatest(0, extract(epoch from now() - min(held.occurred_at)))
    from (
      select occurred_at
      from events
      where events.target_type in ('user', 'session', 'role', 'key') and tx >= (select feed_horizon())
      order by tx, event_id
      limit (select 1000)
    ) held
  ), 0)::float8 as held_seconds;

-- findStart({ tx: '700', event_id: '00000000-0000-0000-0000-000000000000', at: 1970-01-01T00:00:...
with first as (
  select occurred_at as at
  from events
  where events.target_type in ('user', 'session', 'role', 'key') and tx < $1::xid8
    and occurred_at > now() - make_interval(hours => 24 * $2::integer - 1)
    and occurred_at >= coalesce($3::timestamptz, '-infinity')
  order by occurred_at, event_id
  limit 1
)
select
  (
    select min(tx)
    from events
    where events.target_type in ('user', 'session', 'role', 'key') and tx < $4::xid8
      and occurred_at between first.at and first.at + interval '1 hour'
  )::text as tx,
  first.at
from first;

-- findStop({ after: { tx: '700', event_id: '00000000-0000-0000-0000-000000000000', at: 1970-01-0...
select tx::text, event_id, occurred_at as at
from events
where events.target_type in ('user', 'session', 'role', 'key') and (events.tx, events.event_id) > ((select $1::xid8), (select $2::uuid))
  and (events.tx, events.event_id) <= ((select $3::xid8), (select $4::uuid))
order by events.tx, events.event_id
limit 1 offset (select $5::integer);

-- list(administrator, [], { after: { tx: '700', event_id: '00000000-0000-0000-0000-000000000000'...
select
  event_id as change_id,
  tx::text,
  event_type as type, occurred_at, target_type,
  coalesce(target_id::text, changes -> 'name' ->> 'after', changes -> 'name' ->> 'before') as target_id,
  carrier_id,
  coalesce(target_version, case event_type when 'user.created' then 1 end) as version,
  array(
    select field
    from jsonb_object_keys(changes) field
    where field <> 'name' or event_type not in ('role.changed', 'key.revoked', 'key.resumed', 'key.rotated')
  ) as fields
from events
where events.target_type in ('user', 'session', 'role', 'key')
  and (events.tx, events.event_id) > ((select $1::xid8), (select $2::uuid))
  and (events.tx, events.event_id) <= ((select $3::xid8), (select $4::uuid))
  and (target_id is not null or target_type = 'role')
  and true
  and true
order by events.tx, events.event_id
limit (select $5::integer);

-- list(limited, [ { kind: 'field', field: 'type', operator: 'in', value: [ 'user.changed', 'sess...
select
  <columns of list>
from events
where events.target_type in ('user', 'session', 'role', 'key')
  and (events.tx, events.event_id) > ((select $1::xid8), (select $2::uuid))
  and (events.tx, events.event_id) <= ((select $3::xid8), (select $4::uuid))
  and (target_id is not null or target_type = 'role')
  and (events.target_type in ('user', 'session') and (
    ('carrier' = 'carrier' and events.carrier_id = any($5::text[]))
    or (events.target_id = $6::uuid and false)
  ))
  and (events.event_type = any($7::text[]))
order by events.tx, events.event_id
limit (select $8::integer);

-- find(limited, user_id)
select
  <columns of list>
from events
where events.target_type in ('user', 'session', 'role', 'key')
  and events.event_id = $1::uuid
  and (target_id is not null or target_type = 'role')
  and (events.target_type in ('user', 'session') and (
    ('carrier' = 'carrier' and events.carrier_id = any($2::text[]))
    or (events.target_id = $3::uuid and false)
  ));
