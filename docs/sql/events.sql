-- insert(eventBase, [ { id: user_id, carrier_id: 'c1', changes: {} } ])
insert into events (
  event_type, actor_id, actor_type, target_type, operation_id, session_id, ip, request_id,
  target_id, carrier_id, changes, target_version
)
select
  $1, $2::uuid, $3, $4, $5::uuid, $6::uuid,
  $7::inet, $8,
  target.id, target.carrier_id, target.changes, target.version
from (
  select
    id, carrier_id, changes,
    null::integer as version
  from jsonb_to_recordset($9::jsonb) as row (id uuid, carrier_id text, changes jsonb)
) target;

-- list(limited, { ip: '192.0.2.0/24', occurred_at_gt: '2026-11-01T00:00:00Z', count: 'exact' })
with page as materialized (
  select
    events.event_id, events.event_type, events.occurred_at, events.actor_id, events.actor_type,
    events.target_type, events.target_id, events.carrier_id, events.operation_id, events.session_id,
    host(events.ip) as ip, events.request_id, events.changes,
    (events.occurred_at)::text as cursor_value,
    events.occurred_at as sort_value
  from (
    select
      event_id, event_type, occurred_at, actor_id, actor_type, target_type, target_id, carrier_id,
      operation_id, request_id, changes, case when
        case raw.actor_type
          when 'user' then exists (
            select 1
            from users acting
            where acting.user_id = raw.actor_id and (
              (acting.user_type = 'carrier' and acting.carrier_id = any($1::text[]))
              or acting.user_id = $2::uuid
            )
          )
          when 'key' then exists (
            select 1
            from keys acting
            where acting.key_id = raw.actor_id and (
              (acting.user_type = 'carrier' and acting.carrier_id = any($3::text[]))
              or acting.created_by = $4::uuid
            )
          )
          else true
        end then raw.ip end as ip,
      case when
        case raw.actor_type
          when 'user' then exists (
            <as in list>
          )
          when 'key' then exists (
            <as in list>
          )
          else true
        end then raw.session_id end as session_id
    from events raw
  ) events
  where (
    ('carrier' = 'carrier' and events.carrier_id = any($9::text[]))
    or (events.target_id = $10::uuid and events.target_type in ('user', 'login'))
  )
    and events.occurred_at > now() - interval '9600 hours'
    and (events.ip <<= $11::inet)
    and events.occurred_at > $12::timestamptz
  order by events.occurred_at desc, events.event_id desc
  limit $13
)
select
  *
from page
order by sort_value desc, page.event_id desc
limit $14;

-- eraseUsers([ user_id ], { from: 1970-01-01T00:00:00.000Z, until: 1970-01-01T00:00:00.001Z })
update events
set ip = null
where occurred_at >= $1::timestamptz and occurred_at < $2::timestamptz and ip is not null and (
  (actor_type = 'user' and actor_id = any($3::uuid[]))
  or (
    actor_id is null
    and target_id = any($4::uuid[] || array(
      select session_id
      from sessions
      where user_id = any($5::uuid[])
      union
      select session_id
      from events
      where target_id = any($6::uuid[]) and event_type = 'login.succeeded'
    ))
    and case
      -- A subquery is hashed. PostgreSQL would search a computed array row by row.
      when target_type = 'session' then target_id in (select unnest(array(
        <as in eraseUsers>
      )))
      else target_type in ('user', 'login') and target_id = any($9::uuid[])
    end
  )
);
update events
set
  changes = (
    select coalesce(jsonb_object_agg(key, value), '{}')
    from jsonb_each(changes)
    where event_type || '/' || key = any($1::text[])
  ),
  target_version = null
where occurred_at >= $2::timestamptz and occurred_at < $3::timestamptz
  and target_id = any($4::uuid[] || array(
    <as in eraseUsers>
  ))
  and case
    -- A subquery is hashed. PostgreSQL would search a computed array row by row.
    when target_type = 'session' then target_id in (select unnest(array(
      <as in eraseUsers>
    )))
    else target_type in ('user', 'login') and target_id = any($9::uuid[])
  end
  and (
    target_version is not null
    or exists (
      select
      from jsonb_each(changes)
      where not event_type || '/' || key = any($10::text[])
    )
  );
