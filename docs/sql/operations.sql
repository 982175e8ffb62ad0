-- insert(operation)
INSERT INTO "operations"("operation_id", "kind", "permission", "status", "actor_type", "actor_id", "session_id", "ip", "request_id", "request", "total", "processed", "changed", "unchanged", "skipped_count", "skipped_reasons", "skipped", "counts", "error_code", "confirm_id", "undo_of", "undone_by", "created_at", "started_at", "progressed_at", "finished_at", "undo_until") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, $11, $12, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT) RETURNING "total", "processed", "changed", "unchanged", "skipped_count", "skipped_reasons", "skipped", "counts", "created_at", "progressed_at";

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

-- find(operation_id, null)
select
  <columns of find>
from operations
where operation_id = $1::uuid
  and true;

-- list({ scope: limited, permissions: [ 'user:update' ] }, { kind_in: 'change,undo', status: 'do...
with page as materialized (
  select
    <columns of find>,
    (operations.created_at)::text as cursor_value,
    operations.created_at as sort_value
  from operations
  where operations.permission = any($1::text[])
    and (
      $2::boolean
      or (operations.actor_type = $3 and operations.actor_id = $4::uuid)
    )
    and (operations.kind = any($5::text[]))
    and (operations.status = $6::text)
  order by operations.created_at asc, operations.operation_id asc
  limit $7
)
select
  *
from page
order by sort_value asc, page.operation_id asc
limit $8;

-- lock(operation_id, 'skip')
select
  <columns of find>
from operations
where operation_id = $1::uuid
for update skip locked;

-- lock(operation_id, 'wait')
select
  <columns of find>
from operations
where operation_id = $1::uuid
for update;

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
    when $10::integer > 0 and kind <> 'undo'
    and coalesce(
      request -> 'change' not in (
        '{"reset_second_factors": true}', '{"secure": true}', '{"invite": true}'
      ),
      true
    )
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

-- addOutcome(operation_id, outcome)
update operations
set
  status = 'running',
  processed = processed + $1::integer,
  changed = changed + $2::integer,
  unchanged = unchanged + $3::integer,
  skipped_count = skipped_count + $4::integer,
  skipped_reasons = (
    select jsonb_object_agg(key, total)
    from (
      select key, sum(value::integer) as total
      from (
        select * from jsonb_each_text(skipped_reasons)
        union all
        select * from jsonb_each_text($5::jsonb)
      ) counted
      group by key
    ) sums
  ),
  counts = counts,
  skipped = case
    when $6::integer = 0 or jsonb_array_length(skipped) >= $7::integer then skipped
    else (
      select coalesce(jsonb_agg(value order by place), '[]')
      from jsonb_array_elements(skipped || $8::jsonb) with ordinality
        as items (value, place)
      where place <= $9::integer
    )
  end,
  started_at = coalesce(started_at, now()),
  progressed_at = clock_timestamp()
where operation_id = $10::uuid;

-- finish(operation_id, 'done', null)
update operations
set
  status = $1,
  error_code = $2,
  started_at = coalesce(started_at, now()),
  finished_at = clock_timestamp(),
  undo_until = case
    when changed > 0 and kind <> 'undo'
    and coalesce(
      <as in complete>
    )
    then now() + make_interval(days => $3::integer)
  end
where operation_id = $4::uuid
  and finished_at is null;
DELETE FROM "operation_batches" WHERE "operation_id" = $1;

-- remove(operation_id)
DELETE FROM "operations" WHERE "operation_id" = $1;

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
      <as in eraseValues>
    )
);
