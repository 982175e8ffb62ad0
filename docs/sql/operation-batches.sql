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
select count(*)::integer as count
from operations
left join keys on actor_type = 'key' and key_id = actor_id
left join users on users.user_id = case actor_type when 'user' then actor_id else keys.created_by end
where finished_at is null
  and (kind = 'import') = $1::boolean
  and coalesce(keys.carrier_id, users.carrier_id, keys.created_by::text, actor_id::text) = $2;

-- findNext(operation_id)
SELECT "OperationBatchEntity"."operation_id" AS "OperationBatchEntity_operation_id", "OperationBatchEntity"."number" AS "OperationBatchEntity_number", "OperationBatchEntity"."user_ids" AS "OperationBatchEntity_user_ids", "OperationBatchEntity"."rows" AS "OperationBatchEntity_rows" FROM "operation_batches" "OperationBatchEntity" WHERE (("OperationBatchEntity"."operation_id" = $1)) ORDER BY "OperationBatchEntity"."number" ASC LIMIT 1;

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

-- overlaps(operation_id, [ user_id ], 2026-11-01T12:00:00.000Z)
with mine as materialized (select unnest($1::uuid[]) as user_id)
select 1
from operations
join operation_batches using (operation_id)
cross join unnest(user_ids) as their (user_id)
where operations.finished_at is null
  and (created_at, operation_id) < ($2::timestamptz, $3::uuid)
  and user_ids[1] <= (select user_id from mine order by user_id desc limit 1)
  and user_ids[cardinality(user_ids)] >= (select user_id from mine order by user_id limit 1)
  -- IS TRUE prevents a join: PostgreSQL searches a hash instead. In a join it would compare
  -- each row with each other row, because the planner expects ten rows on both sides.
  and (their.user_id in (select user_id from mine)) is true
limit 1;

-- remove(batch)
DELETE FROM "operation_batches" WHERE ("operation_id" = $1 AND "number" = $2);

-- halve(batch, 100)
INSERT INTO "operation_batches"("operation_id", "number", "user_ids", "rows") VALUES ($1, $2, $3, $4);
UPDATE "operation_batches" SET "user_ids" = $1, "rows" = $2 WHERE ("operation_id" = $3 AND "number" = $4);
