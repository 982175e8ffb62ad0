-- The statements of OperationBatchesRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/operation-batches.ts.

-- findTurn([ other_id ], [ operation_id ])
select operation_id
from (
  select
    operation_id,
    coalesce(
      max(progressed_at) filter (where started_at is not null) over of_actor,
      min(progressed_at) over of_actor
    ) as last_turn_at,
    bool_or(operation_id = any($1::uuid[])) over of_actor as has_turn
  from operations
  where finished_at is null
    and status <> 'receiving'
  window of_actor as (partition by actor_type, actor_id)
) accepted
where operation_id <> all($2::uuid[])
order by has_turn, last_turn_at, operation_id
limit 1;

-- findOwner(operation_id)
select
  case actor_type when 'user' then '' else actor_type || ':' end || actor_id as actor,
  coalesce(keys.created_by, actor_id) as user,
  coalesce(keys.carrier_id, users.carrier_id) as carrier
from operations
left join keys on actor_type = 'key' and key_id = actor_id
left join users on users.user_id = case actor_type when 'user' then actor_id else keys.created_by end
where operation_id = $1::uuid;

-- hasStalled(5)
select 1
from operations
where finished_at is null
  and status <> 'receiving'
  and progressed_at <= now() - make_interval(secs => $1)
limit 1;

-- findNext(operation_id)
select min(number) as number
from operation_batches
where operation_id = $1::uuid;

-- userIdsOf(operation_id, 0)
SELECT "OperationBatchEntity"."operation_id" AS "OperationBatchEntity_operation_id", "OperationBatchEntity"."number" AS "OperationBatchEntity_number", "OperationBatchEntity"."user_ids" AS "OperationBatchEntity_user_ids", "OperationBatchEntity"."rows" AS "OperationBatchEntity_rows" FROM "operation_batches" "OperationBatchEntity" WHERE (("OperationBatchEntity"."operation_id" = $1) AND ("OperationBatchEntity"."number" = $2)) LIMIT 1;

-- rowsOf(operation_id, 0)
select rows
from operation_batches
where operation_id = $1::uuid
  and number = $2::integer;

-- addRows(operation_id, 0, [ { name: 'jane' } ])
with receiving as (
  update operations
  set total = total + $1::integer, progressed_at = now()
  where operation_id = $2::uuid
    and status = 'receiving'
  returning operation_id
)
insert into operation_batches (operation_id, number, rows)
select operation_id, $3::integer, $4::jsonb
from receiving
returning number;

-- finish(operation_id, 0, outcome, 100)
update operations
set
  status = 'running',
  processed = processed + $1::integer,
  changed = changed + $2::integer,
  unchanged = unchanged + $3::integer,
  skipped_count = skipped_count + $4::integer,
  skipped_reasons = case
    when $5::integer = 0 then skipped_reasons
    else (
      select coalesce(jsonb_object_agg(key, total), '{}')
      from (
        select key, sum(value::integer) as total
        from (
          select * from jsonb_each_text(skipped_reasons)
          union all
          select * from jsonb_each_text($6::jsonb)
        ) counts
        group by key
      ) sums
    )
  end,
  skipped = case
    when $7::integer = 0 or jsonb_array_length(skipped) >= $8::integer then skipped
    else (
      select coalesce(jsonb_agg(value order by place), '[]')
      from jsonb_array_elements(skipped || $9::jsonb) with ordinality
        as items (value, place)
      where place <= $10::integer
    )
  end,
  started_at = coalesce(started_at, now()),
  progressed_at = clock_timestamp()
where operation_id = $11::uuid;
DELETE FROM "operation_batches" WHERE ("operation_id" = $1 AND "number" = $2);

-- halve(operation_id, 0, 100)
with batch as (
  select operation_id, number, user_ids, rows, greatest($1::integer, (size + 1) / 2) as half
  from operation_batches
  cross join lateral (select coalesce(cardinality(user_ids), jsonb_array_length(rows)) as size) counted
  where operation_id = $2::uuid
    and number = $3::integer
    and size > $4::integer
),
  first_half as (
    insert into operation_batches (operation_id, number, user_ids, rows)
    select
      operation_id, number - 1, user_ids[:half],
      jsonb_path_query_array(rows, format('$[0 to %s]', half - 1)::jsonpath)
    from batch
  ),
  turn as (
    update operations
    set progressed_at = clock_timestamp()
    where operation_id in (select operation_id from batch)
  )
update operation_batches
set
  user_ids = batch.user_ids[half + 1:],
  rows = jsonb_path_query_array(batch.rows, format('$[%s to last]', half)::jsonpath)
from batch
where operation_batches.operation_id = batch.operation_id
  and operation_batches.number = batch.number
returning 1;

-- countUnfinished()
select
  kind,
  status,
  count(*)::integer as count,
  sum(processed)::float8 as processed,
  sum(total - processed)::float8 as remaining,
  greatest(0, extract(epoch from now() - min(progressed_at)))::float8 as idle_seconds
from operations
where finished_at is null
group by kind, status;

-- removeAbandoned(600)
delete from operations
where finished_at is null
  and status = 'receiving'
  and progressed_at <= now() - make_interval(secs => $1);

-- analyze()
analyze (skip_locked) users, user_search;
