-- find(other_id, limited)
select
  webhooks.webhook_id, webhooks.url, webhooks.description, webhooks.type_in, webhooks.carrier_scope,
  webhooks.include_values, webhooks.user_type, webhooks.carrier_id, webhooks.created_by, webhooks.created_at,
  webhooks.updated_at, webhooks.state, webhooks.disabled_reason,
  case when webhooks.old_secret_until > now() then webhooks.old_secret_until end as old_secret_until,
  webhooks.failures, webhooks.failing_since, webhooks.next_attempt_at, webhooks.last_attempt_at,
  webhooks.last_status, webhooks.last_error,
  coalesce(ceil(greatest(0, (
    select extract(epoch from now() - events.occurred_at)
    from events
    where events.target_type in ('user', 'session', 'role', 'key') and (events.tx, events.event_id) > (webhooks.place_tx::xid8, webhooks.place_id)
    order by events.tx, events.event_id
    limit 1
  ))), 0)::integer as behind_seconds
from webhooks
where webhooks.webhook_id = $1::uuid and (
  (webhooks.user_type = 'carrier' and webhooks.carrier_id = any($2::text[]))
  or webhooks.created_by = $3::uuid
);

-- lock(other_id, limited)
select webhook_id
from webhooks
where webhooks.webhook_id = $1::uuid and (
  (webhooks.user_type = 'carrier' and webhooks.carrier_id = any($2::text[]))
  or webhooks.created_by = $3::uuid
)
for no key update;

-- list(limited, { state: 'failing' })
with page as materialized (
  select
    <columns of find>,
    (webhooks.created_at)::text as cursor_value,
    webhooks.created_at as sort_value
  from webhooks
  where (
    (webhooks.user_type = 'carrier' and webhooks.carrier_id = any($1::text[]))
    or webhooks.created_by = $2::uuid
  )
    and (webhooks.state = $3::text)
  order by webhooks.created_at desc, webhooks.webhook_id desc
  limit $4
)
select
  *
from page
order by sort_value desc, page.webhook_id desc
limit $5;

-- disable({ webhook_id: other_id }, 'gone')
update webhooks
set state = 'disabled', disabled_reason = $1::text, updated_at = now()
where webhook_id = $2::uuid
  and state <> 'disabled'
returning webhook_id, url, carrier_id, created_by;

-- disable({ created_by: user_id, since: 1970-01-01T00:00:00.000Z }, 'not_me')
update webhooks
set state = 'disabled', disabled_reason = $1::text, updated_at = now()
where (
  (created_by = $2::uuid and created_at >= $3::timestamptz)
  or (changed_by = $4::uuid and updated_at >= $5::timestamptz)
)
  and state <> 'disabled'
returning webhook_id, url, carrier_id, created_by;

-- enable(other_id, null, user_id)
update webhooks
set
  state = 'active',
  disabled_reason = null,
  failures = 0,
  failing_since = null,
  next_attempt_at = now(),
  changed_by = $1::uuid,
  updated_at = now()
where webhook_id = $2::uuid;

-- enable(other_id, { tx: '700', event_id: '00000000-0000-0000-0000-000000000000', at: 1970-01-01...
update webhooks
set
  state = 'active',
  disabled_reason = null,
  failures = 0,
  failing_since = null,
  next_attempt_at = now(),
  place_tx = $1::text, place_id = $2::uuid, place_at = $3::timestamptz,
  changed_by = $4::uuid,
  updated_at = now()
where webhook_id = $5::uuid;

-- listDeliveries(other_id, { failed: 'true' })
with page as materialized (
  select
    deliveries.*,
    (deliveries.created_at)::text as cursor_value,
    deliveries.created_at as sort_value
  from webhook_deliveries deliveries
  where deliveries.webhook_id = $1::uuid
    and ((deliveries.attempted_at is not null and deliveries.status between 200 and 299 is not true) = $2::boolean)
  order by deliveries.created_at desc, deliveries.delivery_id desc
  limit $3
)
select
  *
from page
order by sort_value desc, page.delivery_id desc
limit $4;
