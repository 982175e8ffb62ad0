-- The statements of SkippedRowsRepository, as they are sent.
-- Written by `npm run generate` from the examples in test/sql/skipped-rows.ts.
-- <columns of find> and <as in find> stand for lines that the page shows at find(…).

-- add(operation_id, [ row ], { rows: 100000, bytes: 67108864 })
with kept as (
  select count(*) as rows, coalesce(sum(pg_column_size(errors) + coalesce(pg_column_size(cells), 0)), 0) as bytes
  from operation_skipped
  where operation_id = $1::uuid
)
insert into operation_skipped (operation_id, line, errors, cells, identities)
select $2::uuid, line, errors, cells, identities
from (
  select
    row.*,
    kept.rows + row_number() over earlier as rows,
    kept.bytes + sum(length(errors::text) + coalesce(length(cells::text), 0)) over earlier as bytes
  from jsonb_to_recordset($3::jsonb)
    as row (line integer, errors jsonb, cells jsonb, identities text[])
  cross join kept
  window earlier as (order by line)
) counted
where rows <= $4::integer
  and bytes <= $5::integer;

-- list(operation_id, user_id, { per_page: '100' })
select
  operation_skipped.operation_id, operation_skipped.line, operation_skipped.errors,
  case when operation_skipped.cells is not null then (
    select coalesce(jsonb_object_agg(
      key,
      case when length(value) > 1000 then left(value, 1000) || '…' else value end
    ), '{}')
    from jsonb_each_text(operation_skipped.cells)
  ) end as cells,
  (operation_skipped.line)::text as cursor_value
from operation_skipped
where operation_skipped.operation_id = $1::uuid
order by operation_skipped.line asc, operation_skipped.operation_id asc
limit $2;

-- erase([ 'jane', 'jane@example.com' ])
update operation_skipped
set cells = null, identities = '{}'
where identities && $1::text[];

-- removeOld(30)
with old as (
  select operation_id
  from operations
  where finished_at <= now() - make_interval(days => $1::integer)
    and exists (
      select
      from operation_skipped
      where operation_skipped.operation_id = operations.operation_id
    )
  limit 1
),
  removed as (
    delete from operation_skipped
      using old
    where operation_skipped.operation_id = old.operation_id
    returning 1
  )
select count(*)::integer as removed
from removed;
