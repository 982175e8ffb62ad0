-- claim(user_id, { active: 50, failing: 50 })
with
  last as (
    select events.tx, events.event_id
    from events
    where events.target_type in ('user', 'session', 'role', 'key') and events.tx < (select pg_snapshot_xmin(pg_current_snapshot()))
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
set claimed_by = $5::uuid, claimed_until = now() + interval '15 seconds'
from (select webhook_id from active union all select webhook_id from failing) due
where webhooks.webhook_id = due.webhook_id
returning
  webhooks.webhook_id, webhooks.url, webhooks.type_in, webhooks.carrier_scope, webhooks.include_values,
  webhooks.created_by, webhooks.updated_at, webhooks.state, webhooks.secret,
  case when webhooks.old_secret_until > now() then webhooks.old_secret end as old_secret,
  webhooks.place_tx, webhooks.place_id, webhooks.place_at, webhooks.failures,
  webhooks.next_attempt_at <= now() as is_due,
  coalesce(extract(epoch from now() - webhooks.failing_since), 0)::float8 as failing_seconds;

-- recordChange(user_id, { webhook_id: other_id, url: 'https://billing.example.net/identity', typ...
with delivery as (
  insert into webhook_deliveries (
    delivery_id, webhook_id, kind, change_id, type, attempt,
    attempted_at, status, error, duration_ms, request, response
  )
  values (
    $1::uuid, $2::uuid, 'change', $3::uuid,
    $4::text, $5::integer,
    now(), $6::integer, $7::text, $8::integer,
    $9::text, $10::text
  )
)
update webhooks
set
  place_tx = $11::text,
  place_id = $12::uuid,
  place_at = $13::timestamptz,
  failures = 0,
  failing_since = null,
  state = case when state = 'disabled' then state else 'active' end,
  claimed_until = now() + interval '15 seconds',
  last_attempt_at = now(),
  last_status = $14::integer,
  last_error = $15::text
where webhook_id = $16::uuid
  and claimed_by = $17::uuid
  and place_tx = $18::text
  and place_id = $19::uuid
returning
  <columns of claim>

-- recordChange(user_id, { webhook_id: other_id, url: 'https://billing.example.net/identity', typ...
with delivery as (
  <as in recordChange>
)
update webhooks
set
  failures = failures + 1,
  failing_since = coalesce(failing_since, now()),
  state = case when state = 'disabled' then state else 'failing' end,
  next_attempt_at = now() + $11::float8 * interval '1 second',
  claimed_until = null,
  last_attempt_at = now(),
  last_status = $12::integer,
  last_error = $13::text
where webhook_id = $14::uuid
  and claimed_by = $15::uuid
  and place_tx = $16::text
  and place_id = $17::uuid
returning
  <columns of claim>

-- recordRequested(user_id, other_id, { delivery_id: user_id, change_id: user_id, type: 'user.cha...
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

-- release(user_id, { webhook_id: other_id, url: 'https://billing.example.net/identity', type_in:...
update webhooks
set
  claimed_until = null
where webhook_id = $1::uuid and claimed_by = $2::uuid
returning webhook_id;

-- release(user_id, { webhook_id: other_id, url: 'https://billing.example.net/identity', type_in:...
update webhooks
set
  place_tx = $1::text,
  place_id = $2::uuid,
  place_at = $3::timestamptz,
  claimed_until = null
where webhook_id = $4::uuid and claimed_by = $5::uuid and place_tx = $6::text and place_id = $7::uuid
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
  coalesce(max(extract(epoch from now() - oldest.occurred_at)), 0)::float8 as behind_seconds
from webhooks
left join lateral (
  select events.occurred_at
  from events
  where events.target_type in ('user', 'session', 'role', 'key') and (events.tx, events.event_id) > (webhooks.place_tx::xid8, webhooks.place_id)
  order by events.tx, events.event_id
  limit 1
) oldest on true
group by state;
