-- The statements of OperationBatchesRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/operation-batches.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- findTurn([ other_id ], [ operation_id ])
select operation_id
from (
  select
    operation_id,
    (
      bool_or(operation_id = any($1::uuid[])) over of_owner,
      coalesce(
        max(progressed_at) filter (where started_at is not null) over of_owner,
        min(progressed_at) over of_owner
      )
    ) as owner_turn,
    (
      bool_or(operation_id = any($2::uuid[])) over of_actor,
      coalesce(
        max(progressed_at) filter (where started_at is not null) over of_actor,
        min(progressed_at) over of_actor
      )
    ) as actor_turn
  from operations
  left join keys on actor_type = 'key' and key_id = actor_id
  left join users on users.user_id = case actor_type when 'user' then actor_id else keys.created_by end
  where finished_at is null
    and operations.status <> 'receiving'
  window
    of_owner as (partition by coalesce(keys.carrier_id, users.carrier_id, keys.created_by::text, actor_id::text)),
    of_actor as (partition by actor_type, actor_id)
) accepted
where operation_id <> all($3::uuid[])
order by owner_turn, actor_turn, operation_id
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

-- countOf({ actor: user_id, user: user_id, carrier: 'c1' }, true)
select pg_advisory_xact_lock($1::bigint);
select count(*)::integer as count
from operations
left join keys on actor_type = 'key' and key_id = actor_id
left join users on users.user_id = case actor_type when 'user' then actor_id else keys.created_by end
where finished_at is null
  and (kind = 'import') = $1::boolean
  and coalesce(keys.carrier_id, users.carrier_id, keys.created_by::text, actor_id::text) = $2;

-- endTurn(operation_id)
update operations
set progressed_at = clock_timestamp()
where operation_id in (
  select operation_id
  from operations
  where operation_id = $1::uuid
  for update skip locked
);

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
DELETE FROM "operation_batches" WHERE ("operation_id" = $1 AND "number" = $2);

-- halve(operation_id, 0, 100)
SELECT "OperationBatchEntity"."operation_id" AS "OperationBatchEntity_operation_id", "OperationBatchEntity"."number" AS "OperationBatchEntity_number", "OperationBatchEntity"."user_ids" AS "OperationBatchEntity_user_ids", "OperationBatchEntity"."rows" AS "OperationBatchEntity_rows" FROM "operation_batches" "OperationBatchEntity" WHERE (("OperationBatchEntity"."operation_id" = $1) AND ("OperationBatchEntity"."number" = $2)) LIMIT 1;

-- countUnfinished()
select
  kind, status,
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
