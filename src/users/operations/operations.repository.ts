import { Injectable } from '@nestjs/common';
import type { ListQuery } from '../../http/lists/list-query';
import { type Page, readPage } from '../../http/lists/page';
import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import { undoDays } from '../../platform/config/settings';
import { advisoryLocks } from '../../platform/advisory-locks';
import { Database } from '../../platform/database/database';
import { listedMax } from './operation-queues';
import { OperationBatchEntity, OperationEntity, type SkippedRow } from './operation.entity';
import { operationColumns, operationListSql, type OperationReader, visibleOperations } from './operations.sql';

/** An operation as read from the database. */
export type OperationRecord = Omit<OperationEntity, 'confirm_id'>;

/** The result of one batch, or of an operation that ran in the transaction of its request. */
export interface BatchOutcome {
  /** users or rows of the batch */
  processed: number;
  changed: number;
  unchanged: number;
  skipped_count: number;
  /** number of skipped users or rows by reason, and further counts by name */
  skipped_reasons: Record<string, number>;
  counts?: Record<string, number>;
  /** the first skipped users or rows */
  skipped: object[];
  /** skipped rows of a file, to be kept for correction */
  skipped_rows?: SkippedRow[];
}

/** Beginning and end of an operation. */
export interface OperationTimes {
  began_at: Date;
  ended_at: Date;
}

/**
 * Renders until when an operation that ends now can be undone; null if it cannot. An operation that
 * only resets second factors, secures accounts or mails invitations cannot be undone.
 */
function undoUntil(changed: SqlFragment): SqlFragment {
  return sql`case
          when ${changed} > 0 and kind <> 'undo'
            and coalesce(
              request -> 'change' not in (
                '{"reset_second_factors": true}', '{"secure": true}', '{"invite": true}'
              ),
              true
            )
          then now() + make_interval(days => ${undoDays}::integer)
        end`;
}

/** SQL of the operations. */
@Injectable()
export class OperationsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Adds an operation. A preview that was already confirmed violates `operations_confirm_id_key`.
   */
  async insert(operation: Partial<OperationEntity>): Promise<void> {
    await this.database.repository(OperationEntity).insert(operation as object);
  }

  /** Returns an operation that the reader may see, or null. @param reader null = no restriction */
  find(operation_id: string, reader: OperationReader | null): Promise<OperationRecord | null> {
    return this.database.find<OperationRecord>(sql`
      select ${operationColumns}
      from operations
      where operation_id = ${operation_id}::uuid
        and ${reader === null ? sql`true` : visibleOperations(reader)}`);
  }

  /** Returns one page of the operations that the reader sees and the query matches. */
  list(reader: OperationReader, query: ListQuery): Promise<Page<OperationRecord>> {
    const source = { ...operationListSql, columns: operationColumns, visible: visibleOperations(reader) };
    return readPage<OperationRecord>(this.database, source, query);
  }

  /**
   * Locks an operation until the transaction ends. While another process holds the lock or waits
   * for it, `skip` returns null, and `wait` waits for the end of its batch.
   */
  async lock(operation_id: string, others: 'skip' | 'wait'): Promise<OperationRecord | null> {
    // Row locks have no queue: without the advisory lock, the next batch could overtake a cancel.
    const turn = await this.database.run<{ locked: boolean }>(
      others === 'skip'
        ? sql`select pg_try_advisory_xact_lock(hashtextextended(${operation_id}, 0)) as locked`
        : sql`select pg_advisory_xact_lock(hashtextextended(${operation_id}, 0)), true as locked`,
    );
    if (turn[0]?.locked !== true) return null;
    return this.database.find<OperationRecord>(sql`
      select ${operationColumns}
      from operations
      where operation_id = ${operation_id}::uuid
      for update ${rawSql(others === 'skip' ? 'skip locked' : '')}`);
  }

  /**
   * Marks an operation as waiting for the runner. Does nothing if the operation was canceled. The
   * lock makes bulk changes visible in the order of `created_at`, in which they change a user.
   * @param total number of users, or null if the rows were counted during the upload
   */
  async accept(operation_id: string, total: number | null): Promise<void> {
    if (total !== null) await this.database.run(sql`select pg_advisory_xact_lock(${advisoryLocks.operations}::bigint)`);
    await this.database.run(sql`
      update operations
      set
        status = 'waiting',
        total = coalesce(${total}::integer, total),
        created_at = case when ${total}::integer is null then created_at else clock_timestamp() end,
        progressed_at = now()
      where operation_id = ${operation_id}::uuid
        and status in ('receiving', 'waiting')`);
  }

  /** Ends an operation that the current transaction has carried out, with its result. */
  async complete(operation_id: string, outcome: BatchOutcome): Promise<OperationRecord> {
    const { processed, changed, unchanged, skipped_count, skipped_reasons, skipped, counts = {} } = outcome;
    const [row] = await this.database.run<OperationRecord>(sql`
      update operations
      set
        status = 'done',
        total = ${processed}::integer,
        processed = ${processed}::integer,
        changed = ${changed}::integer,
        unchanged = ${unchanged}::integer,
        skipped_count = ${skipped_count}::integer,
        skipped_reasons = ${JSON.stringify(skipped_reasons)}::jsonb,
        skipped = ${JSON.stringify(skipped)}::jsonb,
        counts = ${JSON.stringify(counts)}::jsonb,
        started_at = now(),
        progressed_at = case when ${processed}::integer = 0 then now() else clock_timestamp() end,
        finished_at = clock_timestamp(),
        undo_until = ${undoUntil(sql`${changed}::integer`)}
      where operation_id = ${operation_id}::uuid
      returning ${operationColumns}`);
    return row as OperationRecord;
  }

  /** Adds the result of a batch to an operation, which keeps the first skipped users or rows. */
  async addOutcome(operation_id: string, outcome: BatchOutcome): Promise<void> {
    const { processed, changed, unchanged, skipped_count, skipped_reasons, skipped, counts = {} } = outcome;
    await this.database.run(sql`
      update operations
      set
        status = 'running',
        processed = processed + ${processed}::integer,
        changed = changed + ${changed}::integer,
        unchanged = unchanged + ${unchanged}::integer,
        skipped_count = skipped_count + ${skipped_count}::integer,
        skipped_reasons = ${addedSql('skipped_reasons', skipped_reasons)},
        counts = ${addedSql('counts', counts)},
        skipped = case
          when ${skipped_count}::integer = 0 or jsonb_array_length(skipped) >= ${listedMax}::integer then skipped
          else (
            select coalesce(jsonb_agg(value order by place), '[]')
            from jsonb_array_elements(skipped || ${JSON.stringify(skipped)}::jsonb) with ordinality
              as items (value, place)
            where place <= ${listedMax}::integer
          )
        end,
        started_at = coalesce(started_at, now()),
        progressed_at = clock_timestamp()
      where operation_id = ${operation_id}::uuid`);
  }

  /** Ends an operation between two batches, and removes the remaining batches. */
  async finish(operation_id: string, status: 'done' | 'canceled' | 'failed', error_code: string | null): Promise<void> {
    await this.database.run(sql`
      update operations
      set
        status = ${status},
        error_code = ${error_code},
        started_at = coalesce(started_at, now()),
        finished_at = clock_timestamp(),
        undo_until = ${undoUntil(rawSql('changed'))}
      where operation_id = ${operation_id}::uuid
        and finished_at is null`);
    await this.reopenUndone(operation_id);
    await this.database.repository(OperationBatchEntity).delete({ operation_id });
  }

  /**
   * Allows another undo of the same operation if this undo skipped users, changed no user, was
   * canceled or failed.
   */
  async reopenUndone(undo_id: string): Promise<void> {
    await this.database.run(sql`
      update operations
      set undone_by = null
      from operations undo
      where undo.operation_id = ${undo_id}::uuid
        and (undo.status <> 'done' or undo.changed = 0 or undo.skipped_count > 0)
        and operations.operation_id = undo.undo_of
        and operations.undone_by = undo.operation_id`);
  }

  /**
   * Records that an undo of an operation has begun. Returns false if the operation cannot be undone
   * or if another undo has begun before.
   */
  async noteUndone(operation_id: string, undone_by: string): Promise<boolean> {
    const rows = await this.database.run(sql`
      update operations
      set undone_by = ${undone_by}::uuid
      where operation_id = ${operation_id}::uuid
        and undo_until > now()
        and undone_by is null
      returning 1`);
    return rows.length > 0;
  }

  /** Returns the ids of all undos of an operation, in any state. */
  async undosOf(operation_id: string): Promise<string[]> {
    const rows = await this.database.run<{ operation_id: string }>(sql`
      select operation_id
      from operations
      where undo_of = ${operation_id}::uuid`);
    return rows.map((undo) => undo.operation_id);
  }

  /** Removes an operation and its batches. */
  async remove(operation_id: string): Promise<void> {
    await this.database.repository(OperationEntity).delete({ operation_id });
  }

  /**
   * Returns when the events of a finished operation were recorded, or null if the operation is gone
   * or unfinished.
   */
  findTimes(operation_id: string): Promise<OperationTimes | null> {
    return this.database.find<OperationTimes>(sql`
      select created_at as began_at, finished_at as ended_at
      from operations
      where operation_id = ${operation_id}::uuid
        and finished_at is not null`);
  }

  /**
   * Removes values of purged users from the filters of operations, where a filter contains them as
   * words, without regard to case.
   */
  async eraseValues(fields: readonly string[], values: string[]): Promise<void> {
    const words = (text: SqlFragment) => sql`' ' || regexp_replace(lower(${text}), '[^[:alnum:]]+', ' ', 'g') || ' '`;
    // OFFSET 0 makes PostgreSQL compute the words of a filter once, not once for each value.
    const isPersonal = sql`filter.key ~ ${`^(q|attributes|${fields.join('|')})([_.]|$)`}::text
          and exists (
            select 1
            from (select ${words(rawSql('filter.value'))} as words offset 0) shown
            join erased on strpos(shown.words, erased.words) > 0
          )`;
    await this.database.run(sql`
      with erased as materialized (
        select ${words(rawSql('value'))} as words
        from unnest(${values}::text[]) as value
      )
      update operations
      set request = jsonb_set(request, '{filters}', (
        select jsonb_object_agg(filter.key, case when ${isPersonal} then '(erased)' else filter.value end)
        from jsonb_each_text(request -> 'filters') filter
      ))
      where exists (
        select 1
        from jsonb_each_text(request -> 'filters') filter
        where ${isPersonal}
      )`);
  }

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

/** Renders the counts of a column with those of a batch added, by name. */
function addedSql(column: 'skipped_reasons' | 'counts', added: Record<string, number>): SqlFragment {
  if (Object.keys(added).length === 0) return rawSql(column);
  return sql`(
          select jsonb_object_agg(key, total)
          from (
            select key, sum(value::integer) as total
            from (
              select * from jsonb_each_text(${rawSql(column)})
              union all
              select * from jsonb_each_text(${JSON.stringify(added)}::jsonb)
            ) counted
            group by key
          ) sums
        )`;
}
