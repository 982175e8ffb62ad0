-- list(operation_id, { per_page: '100' })
with page as materialized (
  select
    operation_skipped.operation_id, operation_skipped.line, operation_skipped.errors,
    case when operation_skipped.cells is not null then (
      select coalesce(jsonb_object_agg(
        key,
        case when length(value) > 1000 then left(value, 1000) || '…' else value end
      ), '{}')
      from jsonb_each_text(operation_skipped.cells)
    ) end as cells,
    (operation_skipped.line)::text as cursor_value,
    operation_skipped.line as sort_value
  from operation_skipped
  where operation_skipped.operation_id = $1::uuid
  order by operation_skipped.line asc, operation_skipped.operation_id asc
  limit $2
)
select
  *
from page
order by sort_value asc, page.operation_id asc
limit $3;
