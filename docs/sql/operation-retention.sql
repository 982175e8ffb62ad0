-- The statements of OperationRetentionRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/operation-retention.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- removeOld(90, 100)
delete from operations
where operation_id in (
  select operation_id
  from operations
  where finished_at <= now() - make_interval(hours => 24 * $1::integer)
    and created_at <= now() - make_interval(hours => 24 * $2::integer)
    and not exists (
      select
      from operations undo
      where undo.operation_id = operations.undone_by
        and undo.finished_at is null
    )
  order by created_at, operation_id
  limit $3::integer
  for update skip locked
)
returning 1;
