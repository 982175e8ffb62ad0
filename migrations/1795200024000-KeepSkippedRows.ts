import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Keeps the rows that an import skipped in a table of their own, with their cells for correction.
 * Operations list the first 100 rows, each with all of its errors.
 */
export class KeepSkippedRows1795200024000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(table);
    await runner.query(moveRows);
    await runner.query(listRows);
    await runner.query(listFaults);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(listOneFault);
    await runner.query(moveRowsBack);
    await runner.query('drop table operation_skipped');
  }
}

const table = `
  create table operation_skipped (
    operation_id uuid not null
      constraint operation_skipped_operation_id_fkey references operations (operation_id) on delete cascade,
    line integer not null,
    errors jsonb not null,
    cells jsonb,
    identities text[] not null default '{}',
    constraint operation_skipped_pkey primary key (operation_id, line)
  );
  create index operation_skipped_identities_idx on operation_skipped using gin (identities);
`;

/** A row had one error, whose code was the reason. */
const errorsOf = (row: string) => `
  jsonb_build_array(jsonb_build_object(
    'pointer', ${row} -> 'pointer', 'code', ${row} -> 'reason', 'detail', ${row} -> 'detail'
  ))`;

const moveRows = `
  insert into operation_skipped (operation_id, line, errors)
  select operation_id, (item ->> 'line')::integer, ${errorsOf('item')}
  from operations
  cross join jsonb_array_elements(skipped) as items (item)
  where kind = 'import'
  on conflict do nothing`;

const listRows = `
  update operations
  set skipped = (
    select jsonb_agg(
      jsonb_build_object('line', item -> 'line', 'reason', item -> 'reason', 'errors', ${errorsOf('item')})
      order by place
    )
    from jsonb_array_elements(skipped) with ordinality as items (item, place)
    where place <= 100
  )
  where kind = 'import'
    and skipped <> '[]'`;

const moveRowsBack = `
  update operations
  set skipped = coalesce(
    (
      select jsonb_agg(
        jsonb_build_object(
          'line', line, 'pointer', errors #> '{0,pointer}', 'reason', errors #> '{0,code}',
          'detail', errors #> '{0,detail}'
        )
        order by line
      )
      from (
        select *
        from operation_skipped
        where operation_skipped.operation_id = operations.operation_id
        order by line
        limit 10000
      ) kept
    ),
    '[]'
  )
  where kind = 'import'
    and skipped <> '[]'`;

/** Rows of unfinished imports: the faults of an invalid row are a list. */
const listFaults = `
  update operation_batches
  set rows = (
    select jsonb_agg(
      case
        when item ? 'fault' then item - 'fault' || jsonb_build_object('faults', jsonb_build_array(item -> 'fault'))
        else item
      end
      order by place
    )
    from jsonb_array_elements(rows) with ordinality as items (item, place)
  )
  where jsonb_path_exists(rows, '$[*].fault')`;

const listOneFault = `
  update operation_batches
  set rows = (
    select jsonb_agg(
      case
        when item ? 'faults' then item - '{faults,cells}'::text[] || jsonb_build_object('fault', item #> '{faults,0}')
        else item
      end
      order by place
    )
    from jsonb_array_elements(rows) with ordinality as items (item, place)
  )
  where jsonb_path_exists(rows, '$[*].faults')`;
