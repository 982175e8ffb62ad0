-- The statements of OperationsRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/operations.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- insert(operation)
insert into operations (
  operation_id, kind, permission, status, actor_type, actor_id,
  session_id, ip, request_id, request, confirm_id, undo_of
)
values (
  $1, $2, $3, $4, $5, $6,
  $7, $8, $9, $10::jsonb, $11, $12
);

-- overlaps(operation_id, [ user_id ])
with mine as materialized (select unnest($1::uuid[]) as user_id)
select 1
from operations
join operation_batches using (operation_id)
cross join unnest(user_ids) as their (user_id)
where operations.finished_at is null
  and operation_id <> $2::uuid
  and user_ids[1] <= (select user_id from mine order by user_id desc limit 1)
  and user_ids[cardinality(user_ids)] >= (select user_id from mine order by user_id limit 1)
  -- IS TRUE prevents a join: PostgreSQL searches a hash instead. In a join it would compare
  -- each row with each other row, because the planner expects ten rows on both sides.
  and (their.user_id in (select user_id from mine)) is true
limit 1;

-- waits({ operation_id: operation_id, kind: 'undo', permission: 'user:update', status: 'waiting'...
with mine as materialized (
  select unnest(user_ids) as user_id
  from operation_batches
  where operation_id = $1::uuid
    and number = $2::integer)
select 1
from operations
join operation_batches using (operation_id)
cross join unnest(user_ids) as their (user_id)
where operations.finished_at is null
  and (created_at, operation_id) < ($3::timestamptz, $4::uuid)
  and user_ids[1] <= (select user_id from mine order by user_id desc limit 1)
  and user_ids[cardinality(user_ids)] >= (select user_id from mine order by user_id limit 1)
  -- IS TRUE prevents a join: PostgreSQL searches a hash instead. In a join it would compare
  -- each row with each other row, because the planner expects ten rows on both sides.
  and (their.user_id in (select user_id from mine)) is true
limit 1;

-- find(operation_id, { scope: limited, permissions: [ 'user:update' ] })
select
  operations.operation_id, operations.kind, operations.permission, operations.status, operations.actor_type,
  operations.actor_id, operations.session_id, host(operations.ip) as ip, operations.request_id,
  operations.request, operations.total, operations.processed, operations.changed, operations.unchanged,
  operations.skipped_count, operations.skipped_reasons, operations.skipped, operations.counts,
  operations.error_code, operations.undo_of, operations.undone_by, operations.created_at, operations.started_at,
  operations.progressed_at, operations.finished_at, operations.undo_until
from operations
where operation_id = $1::uuid
  and operations.permission = any($2::text[])
  and (
    $3::boolean
    or (operations.actor_type = $4 and operations.actor_id = $5::uuid)
  );

-- list({ scope: administrator, permissions: [ 'user:update' ] }, {})
select
  <columns of find>,
  (operations.created_at)::text as cursor_value
from operations
where operations.permission = any($1::text[])
  and (
    $2::boolean
    or (operations.actor_type = $3 and operations.actor_id = $4::uuid)
  )
order by operations.created_at desc, operations.operation_id desc
limit $5;

-- list({ scope: limited, permissions: [ 'user:update' ] }, { kind_in: 'change,undo', status: 'do...
select
  <columns of find>,
  (operations.created_at)::text as cursor_value
from operations
where operations.permission = any($1::text[])
  and (
    $2::boolean
    or (operations.actor_type = $3 and operations.actor_id = $4::uuid)
  )
  and (operations.kind = any($5::text[]))
  and (operations.status = $6::text)
order by operations.created_at asc, operations.operation_id asc
limit $7;

-- findToRun(operation_id)
select
  <columns of find>
from operations
where operation_id = $1::uuid;

-- lock(operation_id, 'skip')
select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as locked;
select
  <columns of find>
from operations
where operation_id = $1::uuid
for update skip locked;

-- lock(operation_id, 'wait')
select pg_advisory_xact_lock(hashtextextended($1, 0)), true as locked;
select
  <columns of find>
from operations
where operation_id = $1::uuid
for update;

-- accept(operation_id, 1000)
select pg_advisory_xact_lock($1::bigint);
update operations
set
  status = 'waiting',
  total = coalesce($1::integer, total),
  created_at = case when $2::integer is null then created_at else clock_timestamp() end,
  progressed_at = now()
where operation_id = $3::uuid
  and status in ('receiving', 'waiting');

-- complete(operation_id, outcome)
update operations
set
  status = 'done',
  total = $1::integer,
  processed = $2::integer,
  changed = $3::integer,
  unchanged = $4::integer,
  skipped_count = $5::integer,
  skipped_reasons = $6::jsonb,
  skipped = $7::jsonb,
  counts = $8::jsonb,
  started_at = now(),
  progressed_at = case when $9::integer = 0 then now() else clock_timestamp() end,
  finished_at = clock_timestamp(),
  undo_until = case
    when $10::integer > 0 and kind in ('change', 'delete')
    and coalesce(request -> 'change' not in ('{"reset_second_factors": true}', '{"secure": true}'), true)
    then now() + make_interval(days => $11::integer)
  end
where operation_id = $12::uuid
returning
  operations.operation_id, operations.kind, operations.permission, operations.status, operations.actor_type,
  operations.actor_id, operations.session_id, host(operations.ip) as ip, operations.request_id,
  operations.request, operations.total, operations.processed, operations.changed, operations.unchanged,
  operations.skipped_count, operations.skipped_reasons, operations.skipped, operations.counts,
  operations.error_code, operations.undo_of, operations.undone_by, operations.created_at, operations.started_at,
  operations.progressed_at, operations.finished_at, operations.undo_until;

-- finish(operation_id, 'done', null)
update operations
set
  status = $1,
  error_code = $2,
  started_at = coalesce(started_at, now()),
  finished_at = clock_timestamp(),
  undo_until = case
    when changed > 0 and kind in ('change', 'delete')
    and coalesce(request -> 'change' not in ('{"reset_second_factors": true}', '{"secure": true}'), true)
    then now() + make_interval(days => $3::integer)
  end
where operation_id = $4::uuid
  and finished_at is null;
update operations
set undone_by = null
from operations undo
where undo.operation_id = $1::uuid
  and (undo.status <> 'done' or undo.changed = 0 or undo.skipped_count > 0)
  and operations.operation_id = undo.undo_of
  and operations.undone_by = undo.operation_id;
DELETE FROM "operation_batches" WHERE "operation_id" = $1;

-- reopenUndone(operation_id)
update operations
set undone_by = null
from operations undo
where undo.operation_id = $1::uuid
  and (undo.status <> 'done' or undo.changed = 0 or undo.skipped_count > 0)
  and operations.operation_id = undo.undo_of
  and operations.undone_by = undo.operation_id;

-- noteUndone(operation_id, other_id)
update operations
set undone_by = $1::uuid
where operation_id = $2::uuid
  and undo_until > now()
  and undone_by is null
returning 1;

-- undosOf(operation_id)
select operation_id
from operations
where undo_of = $1::uuid;

-- remove(operation_id)
DELETE FROM "operations" WHERE "operation_id" = $1;

-- findTimes(operation_id)
select created_at as began_at, finished_at as ended_at
from operations
where operation_id = $1::uuid
  and finished_at is not null;

-- eraseValues([ 'name', 'email' ], [ 'user@example.com' ])
with erased as materialized (
  select ' ' || regexp_replace(lower(value), '[^[:alnum:]]+', ' ', 'g') || ' ' as words
  from unnest($1::text[]) as value
)
update operations
set request = jsonb_set(request, '{filters}', (
  select jsonb_object_agg(filter.key, case when filter.key ~ $2::text
    and exists (
      select 1
      from (select ' ' || regexp_replace(lower(filter.value), '[^[:alnum:]]+', ' ', 'g') || ' ' as words offset 0) shown
      join erased on strpos(shown.words, erased.words) > 0
    ) then '(erased)' else filter.value end)
  from jsonb_each_text(request -> 'filters') filter
))
where exists (
  select 1
  from jsonb_each_text(request -> 'filters') filter
  where filter.key ~ $3::text
    and exists (
      select 1
      from (select ' ' || regexp_replace(lower(filter.value), '[^[:alnum:]]+', ' ', 'g') || ' ' as words offset 0) shown
      join erased on strpos(shown.words, erased.words) > 0
    )
);
