import { Injectable } from '@nestjs/common';
import { sql } from '../common/query/sql';
import { Database } from '../database/database';

/** SQL that removes old operations. */
@Injectable()
export class OperationRetentionRepository {
  constructor(private readonly database: Database) {}

  /**
   * Removes up to `max` operations that ended at least `days` days ago, with their skipped rows.
   * Returns their number, or null if there are none. Keeps operations that are being undone.
   */
  async removeOld(days: number, max: number): Promise<number | null> {
    const rows = await this.database.run(sql`
      delete from operations
      where operation_id in (
        select operation_id
        from operations
        where finished_at <= now() - make_interval(hours => 24 * ${days}::integer)
          and created_at <= now() - make_interval(hours => 24 * ${days}::integer)
          and not exists (
            select
            from operations undo
            where undo.operation_id = operations.undone_by
              and undo.finished_at is null
          )
        order by created_at, operation_id
        limit ${max}::integer
        for update skip locked
      )
      returning 1`);
    return rows.length === 0 ? null : rows.length;
  }
}
