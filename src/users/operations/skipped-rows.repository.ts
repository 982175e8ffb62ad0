import { Injectable } from '@nestjs/common';
import type { ListQuery } from '../../http/lists/list-query';
import { type Page, readPage } from '../../http/lists/page';
import { rawSql, sql } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';
import { skippedLimits } from './operation-queues';
import type { SkippedRow } from './operation.entity';
import { skippedRowList } from './operation-list';

/** Maximum number of characters of a cell in a page, which may have 500 rows. */
const cellMax = 1_000;

/** SQL of the rows that operations skipped. */
@Injectable()
export class SkippedRowsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Adds rows in the order of their lines, until the operation has reached its limits. Call it in
   * the transaction that removes the batch of the rows.
   */
  async add(operation_id: string, rows: SkippedRow[]): Promise<void> {
    await this.database.run(sql`
      with kept as (
        select count(*) as rows, coalesce(sum(pg_column_size(errors) + coalesce(pg_column_size(cells), 0)), 0) as bytes
        from operation_skipped
        where operation_id = ${operation_id}::uuid
      )
      insert into operation_skipped (operation_id, line, errors, cells, identities)
      select ${operation_id}::uuid, line, errors, cells, identities
      from (
        select
          row.*,
          kept.rows + row_number() over earlier as rows,
          kept.bytes + sum(length(errors::text) + coalesce(length(cells::text), 0)) over earlier as bytes
        from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
          as row (line integer, errors jsonb, cells jsonb, identities text[])
        cross join kept
        window earlier as (order by line)
      ) counted
      where rows <= ${skippedLimits.rows}::integer
        and bytes <= ${skippedLimits.bytes}::integer`);
  }

  /** Returns one page of the rows of an operation in file order, with long cells shortened. */
  list(operation_id: string, query: ListQuery): Promise<Page<SkippedRow>> {
    const source = {
      list: skippedRowList,
      filter: { spec: skippedRowList.filter, table: 'operation_skipped' },
      from: rawSql('operation_skipped'),
      id: 'operation_skipped.operation_id',
      columns: rawSql(`operation_skipped.operation_id,
        operation_skipped.line,
        operation_skipped.errors,
        case when operation_skipped.cells is not null then (
          select coalesce(jsonb_object_agg(
            key,
            case when length(value) > ${cellMax} then left(value, ${cellMax}) || '…' else value end
          ), '{}')
          from jsonb_each_text(operation_skipped.cells)
        ) end as cells`),
      visible: sql`operation_skipped.operation_id = ${operation_id}::uuid`,
    };
    return readPage<SkippedRow>(this.database, source, query);
  }

  /** Removes the cells of rows that contain one of these values, without regard to case. */
  async erase(values: string[]): Promise<void> {
    await this.database.run(sql`
      update operation_skipped
      set cells = null, identities = '{}'
      where identities && ${values}::text[]`);
  }

  /**
   * Removes the rows of one operation that ended more than `days` days ago. Returns their number,
   * or null if no operation has such rows.
   */
  async removeOld(days: number): Promise<number | null> {
    const [row] = await this.database.run<{ removed: number }>(sql`
      with old as (
        select operation_id
        from operations
        where finished_at <= now() - make_interval(days => ${days}::integer)
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
      from removed`);
    return row === undefined || row.removed === 0 ? null : row.removed;
  }
}
