import { Injectable } from '@nestjs/common';
import { identityOf } from '../access/actor';
import { CursorCodec } from '../common/query/cursor';
import type { RawQuery } from '../common/query/filter';
import { parseListQuery } from '../common/query/list-query';
import { type Page, readPage } from '../common/query/page';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import { undoDays } from '../config/settings';
import { advisoryLocks } from '../common/advisory-locks';
import { Database } from '../database/database';
import { batchUsersSql, overlapSql } from './operation-batches.sql';
import { OperationBatchEntity } from './operation-batch.entity';
import { OperationEntity } from './operation.entity';
import { operationList } from './operation-list';
import { operationColumns, operationListSql, type OperationReader, visibleOperations } from './operation-list.sql';
import type { SkippedRow } from './operation-skipped.entity';

/** An operation as read from the database. */
export type OperationRecord = Omit<OperationEntity, 'confirm_id'>;

/** The columns of a new operation. */
export type NewOperation = Pick<
  OperationEntity,
  | 'operation_id'
  | 'kind'
  | 'permission'
  | 'status'
  | 'actor_type'
  | 'actor_id'
  | 'session_id'
  | 'ip'
  | 'request_id'
  | 'request'
  | 'confirm_id'
  | 'undo_of'
>;

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
  skipped: Record<string, unknown>[];
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
 * only resets second factors or secures accounts cannot be undone.
 */
function undoUntil(changed: SqlFragment): SqlFragment {
  return sql`case
          when ${changed} > 0 and kind in ('change', 'delete')
            and coalesce(request -> 'change' not in ('{"reset_second_factors": true}', '{"secure": true}'), true)
          then now() + make_interval(days => ${undoDays}::integer)
        end`;
}

/** SQL of the operations. */
@Injectable()
export class OperationsRepository {
  constructor(
    private readonly database: Database,
    private readonly cursors: CursorCodec,
  ) {}

  /**
   * Adds an operation. A preview that was already confirmed violates `operations_confirm_id_key`.
   */
  async insert(operation: NewOperation): Promise<void> {
    const { operation_id, kind, permission, status, actor_type, actor_id } = operation;
    const { session_id, ip, request_id, request, confirm_id, undo_of } = operation;
    await this.database.run(sql`
      insert into operations (
        operation_id, kind, permission, status, actor_type, actor_id,
        session_id, ip, request_id, request, confirm_id, undo_of
      )
      values (
        ${operation_id}, ${kind}, ${permission}, ${status}, ${actor_type}, ${actor_id},
        ${session_id}, ${ip}, ${request_id}, ${JSON.stringify(request)}::jsonb, ${confirm_id}, ${undo_of}
      )`);
  }

  /** Returns whether another operation still has to process one of these users. */
  async overlaps(operation_id: string, user_ids: string[]): Promise<boolean> {
    const mine = sql`select unnest(${user_ids}::uuid[]) as user_id`;
    const rows = await this.database.run(overlapSql(mine, sql`operation_id <> ${operation_id}::uuid`));
    return rows.length > 0;
  }

  /** Returns whether an operation accepted before still has to process a user of this batch. */
  async waits({ operation_id, created_at }: OperationRecord, number: number): Promise<boolean> {
    const mine = batchUsersSql(operation_id, number);
    const before = sql`(created_at, operation_id) < (${created_at}::timestamptz, ${operation_id}::uuid)`;
    return (await this.database.run(overlapSql(mine, before))).length > 0;
  }

  /** Returns an operation that the reader sees, or null. */
  async find(operation_id: string, reader: OperationReader): Promise<OperationRecord | null> {
    const [row] = await this.database.run<OperationRecord>(sql`
      select ${operationColumns}
      from operations
      where operation_id = ${operation_id}::uuid
        and ${visibleOperations(reader)}`);
    return row ?? null;
  }

  /** Returns one page of the operations that the reader sees and the query matches. */
  async list(reader: OperationReader, query: RawQuery): Promise<Page<OperationRecord>> {
    const parsed = parseListQuery(query, operationList, identityOf(reader.scope), this.cursors);
    const source = { ...operationListSql, columns: operationColumns, visible: visibleOperations(reader) };
    return readPage<OperationRecord>(this.database, source, parsed, this.cursors);
  }

  /** Returns an operation for the runner, or null if it is gone. */
  async findToRun(operation_id: string): Promise<OperationRecord | null> {
    const [row] = await this.database.run<OperationRecord>(sql`
      select ${operationColumns}
      from operations
      where operation_id = ${operation_id}::uuid`);
    return row ?? null;
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
    const [row] = await this.database.run<OperationRecord>(sql`
      select ${operationColumns}
      from operations
      where operation_id = ${operation_id}::uuid
      for update ${rawSql(others === 'skip' ? 'skip locked' : '')}`);
    return row ?? null;
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
  async findTimes(operation_id: string): Promise<OperationTimes | null> {
    const [row] = await this.database.run<OperationTimes>(sql`
      select created_at as began_at, finished_at as ended_at
      from operations
      where operation_id = ${operation_id}::uuid
        and finished_at is not null`);
    return row ?? null;
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
}
