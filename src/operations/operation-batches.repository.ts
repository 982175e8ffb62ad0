import { Injectable } from '@nestjs/common';
import { sql } from '../common/query/sql';
import { Database } from '../database/database';
import { OperationBatchEntity } from './operation-batch.entity';
import type { OperationKind, OperationStatus } from './operation.entity';
import type { BatchOutcome } from './operations.repository';

/** The operations of a kind and status that have not ended. */
export interface UnfinishedCount {
  kind: OperationKind;
  status: OperationStatus;
  count: number;
  /** users or rows */
  processed: number;
  /** users or rows that are not processed yet */
  remaining: number;
  /** longest time without progress */
  idle_seconds: number;
}

/** SQL of the batches of operations. */
@Injectable()
export class OperationBatchesRepository {
  constructor(private readonly database: Database) {}

  /** Returns the accepted operation of these kinds that has waited longest, or null. */
  async findOldest(kinds: OperationKind[]): Promise<string | null> {
    const [row] = await this.database.run<{ operation_id: string }>(sql`
      select operation_id
      from operations
      where finished_at is null
        and status <> 'receiving'
        and kind = any(${kinds}::text[])
      order by operation_id
      limit 1`);
    return row?.operation_id ?? null;
  }

  /** Returns the kinds of accepted operations without progress for this time. */
  async findStalled(seconds: number): Promise<OperationKind[]> {
    const rows = await this.database.run<{ kind: OperationKind }>(sql`
      select distinct kind
      from operations
      where finished_at is null
        and status <> 'receiving'
        and progressed_at <= now() - make_interval(secs => ${seconds})`);
    return rows.map(({ kind }) => kind);
  }

  /** Returns the number of the next batch, or null if all batches are done. */
  async findNext(operation_id: string): Promise<number | null> {
    const [row] = await this.database.run<{ number: number | null }>(sql`
      select min(number) as number
      from operation_batches
      where operation_id = ${operation_id}::uuid`);
    return row?.number ?? null;
  }

  /** Returns the ids of the users of a batch, or none if the batch is done. */
  async userIdsOf(operation_id: string, number: number): Promise<string[]> {
    const batch = await this.database.repository(OperationBatchEntity).findOneBy({ operation_id, number });
    return batch?.user_ids ?? [];
  }

  /** Returns the rows of a batch, or none if the batch is done. */
  async rowsOf(operation_id: string, number: number): Promise<unknown[]> {
    const [batch] = await this.database.runPrepared<{ rows: unknown[] | null }>(sql`
      select rows
      from operation_batches
      where operation_id = ${operation_id}::uuid
        and number = ${number}::integer`);
    return batch?.rows ?? [];
  }

  /**
   * Stores rows of a file as the next batch, and counts them. Returns false if the operation no
   * longer receives rows.
   */
  async addRows(operation_id: string, number: number, rows: unknown[]): Promise<boolean> {
    const added = await this.database.runPrepared(sql`
      with receiving as (
        update operations
        set total = total + ${rows.length}::integer, progressed_at = now()
        where operation_id = ${operation_id}::uuid
          and status = 'receiving'
        returning operation_id
      )
      insert into operation_batches (operation_id, number, rows)
      select operation_id, ${number}::integer, ${JSON.stringify(rows)}::jsonb
      from receiving
      returning number`);
    return added.length > 0;
  }

  /**
   * Adds the result of a batch to its operation and removes the batch. The operation keeps the
   * first `skippedMax` skipped users or rows.
   */
  async finish(operation_id: string, number: number, outcome: BatchOutcome, skippedMax: number): Promise<void> {
    const { processed, changed, unchanged, skipped_count, skipped_reasons, skipped } = outcome;
    await this.database.run(sql`
      update operations
      set
        status = 'running',
        processed = processed + ${processed}::integer,
        changed = changed + ${changed}::integer,
        unchanged = unchanged + ${unchanged}::integer,
        skipped_count = skipped_count + ${skipped_count}::integer,
        skipped_reasons = case
          when ${skipped_count}::integer = 0 then skipped_reasons
          else (
            select coalesce(jsonb_object_agg(key, total), '{}')
            from (
              select key, sum(value::integer) as total
              from (
                select * from jsonb_each_text(skipped_reasons)
                union all
                select * from jsonb_each_text(${JSON.stringify(skipped_reasons)}::jsonb)
              ) counts
              group by key
            ) sums
          )
        end,
        skipped = case
          when ${skipped_count}::integer = 0 or jsonb_array_length(skipped) >= ${skippedMax}::integer then skipped
          else (
            select coalesce(jsonb_agg(value order by place), '[]')
            from jsonb_array_elements(skipped || ${JSON.stringify(skipped)}::jsonb) with ordinality
              as items (value, place)
            where place <= ${skippedMax}::integer
          )
        end,
        started_at = coalesce(started_at, now()),
        progressed_at = clock_timestamp()
      where operation_id = ${operation_id}::uuid`);
    await this.database.repository(OperationBatchEntity).delete({ operation_id, number });
  }

  /** Counts the operations that have not ended. */
  async countUnfinished(): Promise<UnfinishedCount[]> {
    return this.database.run<UnfinishedCount>(sql`
      select
        kind,
        status,
        count(*)::integer as count,
        sum(processed)::float8 as processed,
        sum(total - processed)::float8 as remaining,
        greatest(0, extract(epoch from now() - min(progressed_at)))::float8 as idle_seconds
      from operations
      where finished_at is null
      group by kind, status`);
  }

  /** Removes operations whose upload has made no progress for this time. */
  async removeAbandoned(seconds: number): Promise<void> {
    await this.database.run(sql`
      delete from operations
      where finished_at is null
        and status = 'receiving'
        and progressed_at <= now() - make_interval(secs => ${seconds})`);
  }

  /**
   * Updates the statistics of the users. Autovacuum may run up to a minute later. Until then
   * the planner and the totals of lists would use outdated numbers.
   */
  async analyze(): Promise<void> {
    await this.database.run(sql`analyze (skip_locked) users, user_search`);
  }
}
