-- claim({ active: 50, failing: 50 })
with
  last as (
    select events.tx, events.event_id
    from events
    where events.target_type in ('user', 'session', 'role', 'key') and events.tx < (select feed_horizon())
    order by events.tx desc, events.event_id desc
    limit 1
  ),
  active as (
    select webhooks.webhook_id
    from webhooks
    where webhooks.state = $1::text
      and (webhooks.claimed_until is null or webhooks.claimed_until <= now())
      and (
        (
          webhooks.next_attempt_at <= now()
          and (webhooks.place_tx::xid8, webhooks.place_id) < (select tx, event_id from last)
        )
        or exists (
          select 1
          from webhook_deliveries
          where webhook_deliveries.webhook_id = webhooks.webhook_id and webhook_deliveries.attempted_at is null
        )
      )
    order by webhooks.last_attempt_at nulls first
    limit $2::integer
    for no key update of webhooks skip locked),
  failing as (
    <as in claim>
update webhooks
set claimed_by = gen_random_uuid(), claimed_until = now() + interval '15 seconds'
from (select webhook_id from active union all select webhook_id from failing) due
where webhooks.webhook_id = due.webhook_id
returning
  webhooks.webhook_id, webhooks.url, webhooks.type_in, webhooks.carrier_scope, webhooks.include_values,
  webhooks.created_by, webhooks.updated_at, webhooks.state, webhooks.secret,
  case when webhooks.old_secret_until > now() then webhooks.old_secret end as old_secret,
  webhooks.place_tx, webhooks.place_id, webhooks.place_at, webhooks.failures, webhooks.claimed_by,
  webhooks.next_attempt_at <= now() as is_due,
  coalesce(extract(epoch from now() - webhooks.failing_since), 0)::float8 as failing_seconds;

-- recordChange({ webhook_id: other_id, url: 'https://billing.example.net/identity', type_in: [],...
with moved as (
  update webhooks
  set
    place_tx = $1::text,
    place_id = $2::uuid,
    place_at = $3::timestamptz,
    failures = 0,
    failing_since = null,
    state = case when state = 'disabled' then state else 'active' end,
    claimed_until = now() + interval '15 seconds',
    last_attempt_at = now(),
    last_status = $4::integer,
    last_error = $5::text
  where webhook_id = $6::uuid
    and claimed_by = $7::uuid
    and place_tx = $8::text
    and place_id = $9::uuid
    and updated_at = $10::timestamptz
  returning
    webhooks.webhook_id, webhooks.url, webhooks.type_in, webhooks.carrier_scope, webhooks.include_values,
    webhooks.created_by, webhooks.updated_at, webhooks.state, webhooks.secret,
    case when webhooks.old_secret_until > now() then webhooks.old_secret end as old_secret,
    webhooks.place_tx, webhooks.place_id, webhooks.place_at, webhooks.failures, webhooks.claimed_by,
    webhooks.next_attempt_at <= now() as is_due,
    coalesce(extract(epoch from now() - webhooks.failing_since), 0)::float8 as failing_seconds
),
  delivery as (
    insert into webhook_deliveries (
      delivery_id, webhook_id, kind, change_id, type, attempt,
      attempted_at, status, error, duration_ms, request, response
    )
    select
      $11::uuid, webhook_id, 'change', $12::uuid,
      $13::text, $14::integer,
      now(), $15::integer, $16::text, $17::integer,
      $18::text, $19::text
    from moved
  )
select *
from moved;

-- recordChange({ webhook_id: other_id, url: 'https://billing.example.net/identity', type_in: [],...
with moved as (
  update webhooks
  set
    failures = failures + 1,
    failing_since = coalesce(failing_since, now()),
    state = case when state = 'disabled' then state else 'failing' end,
    next_attempt_at = now() + $1::float8 * interval '1 second',
    claimed_until = null,
    last_attempt_at = now(),
    last_status = $2::integer,
    last_error = $3::text
  where webhook_id = $4::uuid
    and claimed_by = $5::uuid
    and place_tx = $6::text
    and place_id = $7::uuid
    and updated_at = $8::timestamptz
  returning
    <columns of recordChange>
),
  delivery as (
    <as in recordChange>
  )
select *
from moved;

-- recordRequested({ webhook_id: other_id, url: 'https://billing.example.net/identity', type_in: ...
with delivery as (
  update webhook_deliveries
  set
    attempted_at = now(),
    status = $1::integer,
    error = $2::text,
    duration_ms = $3::integer,
    request = $4::text,
    response = $5::text
  where delivery_id = $6::uuid
)
update webhooks
set
  claimed_until = now() + interval '15 seconds',
  last_attempt_at = now(),
  last_status = $7::integer,
  last_error = $8::text
where webhook_id = $9::uuid and claimed_by = $10::uuid
returning
  <columns of claim>

-- renew({ webhook_id: other_id, url: 'https://billing.example.net/identity', type_in: [], carrie...
update webhooks
set claimed_until = now() + interval '15 seconds'
where webhook_id = $1::uuid and claimed_by = $2::uuid
returning
  <columns of claim>

-- release({ webhook_id: other_id, url: 'https://billing.example.net/identity', type_in: [], carr...
update webhooks
set
  claimed_until = null
where webhook_id = $1::uuid and claimed_by = $2::uuid
returning webhook_id;

-- release({ webhook_id: other_id, url: 'https://billing.example.net/identity', type_in: [], carr...
update webhooks
set
  place_tx = $1::text,
  place_id = $2::uuid,
  place_at = $3::timestamptz,
  claimed_until = null
where webhook_id = $4::uuid and claimed_by = $5::uuid
  and place_tx = $6::text
  and place_id = $7::uuid
  and updated_at = $8::timestamptz
returning webhook_id;
update webhooks
set
  claimed_until = null
where webhook_id = $1::uuid and claimed_by = $2::uuid
returning webhook_id;

-- count()
select
  state,
  count(*)::integer as count,
  coalesce(max((
    select extract(epoch from now() - events.occurred_at)
    from events
    where events.target_type in ('user', 'session', 'role', 'key') and (events.tx, events.event_id) > (webhooks.place_tx::xid8, webhooks.place_id)
    order by events.tx, events.event_id
    limit 1
  )), 0)::float8 as behind_seconds
from webhooks
group by state;
