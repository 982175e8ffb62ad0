import { Injectable } from '@nestjs/common';
import { CursorCodec } from '../common/query/cursor';
import type { RawQuery } from '../common/query/filter';
import { parseListQuery } from '../common/query/list-query';
import { digestSql } from '../common/query/digest';
import { type Page, readPage } from '../common/query/page';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import { Database } from '../database/database';
import { OperationBatchEntity } from './operation-batch.entity';
import { OperationEntity, type OperationKind } from './operation.entity';
import { operationList } from './operation-list';
import { operationListSql } from './operation-list.sql';

const columns =
  rawSql(`operations.operation_id, operations.kind, operations.permission, operations.status, operations.actor_type,
  operations.actor_id, operations.session_id, host(operations.ip) as ip, operations.request_id, operations.request, operations.total, operations.processed, operations.changed, operations.unchanged,
  operations.skipped_count, operations.skipped_reasons, jsonb_path_query_array(operations.skipped, '$[0 to 99]') as skipped, operations.error_code, operations.undo_of,
  operations.undone_by, operations.created_at, operations.started_at, operations.progressed_at, operations.finished_at, operations.undo_until`);

/** An operation as it is read. */
export type OperationRecord = Omit<OperationEntity, 'confirm_id'>;

/** An operation that begins. */
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

/** The users that an operation is about, as they were fixed. */
export interface FixedSet {
  count: number;
  digest: string;
  fixed_at: Date;
}

/** What became of a batch. */
export interface BatchOutcome {
  /** users or rows that it had */
  processed: number;
  changed: number;
  unchanged: number;
  skipped_count: number;
  /** how many for which reason */
  skipped_reasons: Record<string, number>;
  /** some of them */
  skipped: Record<string, unknown>[];
}

/** The SQL of operations. */
@Injectable()
export class OperationsRepository {
  constructor(
    private readonly database: Database,
    private readonly cursors: CursorCodec,
  ) {}

  /**
   * Adds an operation. A preview that was confirmed before violates `operations_confirm_id_key`.
   */
  async insert(operation: NewOperation): Promise<void> {
    const { operation_id, kind, permission, status, actor_type, actor_id, session_id, ip, request_id, request } =
      operation;
    const { confirm_id, undo_of } = operation;
    await this.database.run(sql`insert into operations
        (operation_id, kind, permission, status, actor_type, actor_id, session_id, ip, request_id, request, confirm_id, undo_of)
      values (${operation_id}, ${kind}, ${permission}, ${status}, ${actor_type}, ${actor_id}, ${session_id}, ${ip}, ${request_id}, ${JSON.stringify(request)}::jsonb, ${confirm_id}, ${undo_of})`);
  }

  /**
   * Fixes the users that an operation is about, in batches by order of their ids, and counts them.
   * @param found query that gives `user_id`
   * @param seed of the digest of their ids
   */
  async addUsers(operation_id: string, found: SqlFragment, batchSize: number, seed: string): Promise<FixedSet> {
    const [row] = await this.database.run<FixedSet>(sql`with found as materialized (
        select user_id, (row_number() over (order by user_id) - 1) / ${batchSize}::integer as number from (${found}) found
      ), batches as (
        insert into operation_batches (operation_id, number, user_ids)
        select ${operation_id}::uuid, number, array_agg(user_id order by user_id) from found group by number
      )
      select count(*)::integer as count, ${digestSql('user_id', seed)} as digest, now() as fixed_at from found`);
    const fixed = row as FixedSet;
    await this.database.run(
      sql`update operations set total = ${fixed.count}::integer where operation_id = ${operation_id}::uuid`,
    );
    return fixed;
  }

  /**
   * Whether some of these users are still before another operation; `users` is a query that gives
   * their `user_id`. Ids of a batch are in order: most batches are told by their ends.
   */
  async overlaps(operation_id: string, users: SqlFragment): Promise<boolean> {
    const rows = await this.database.run(sql`with mine as materialized (${users})
      select 1 from operations join operation_batches using (operation_id) cross join unnest(user_ids) as their(user_id)
      where operations.finished_at is null and operation_id <> ${operation_id}::uuid
        and user_ids[1] <= (select user_id from mine order by user_id desc limit 1)
        and user_ids[cardinality(user_ids)] >= (select user_id from mine order by user_id limit 1)
        -- as a value, so that it is looked up in a hash: the planner takes both sides for ten rows, and as a join it would compare each with each
        and (their.user_id in (select user_id from mine)) is true limit 1`);
    return rows.length > 0;
  }

  /**
   * Adds rows of a file as the next batch, and counts them; false when the operation takes no more.
   */
  async addRows(operation_id: string, number: number, rows: unknown[]): Promise<boolean> {
    const receiving = await this.database
      .run(sql`update operations set total = total + ${rows.length}::integer, progressed_at = now()
      where operation_id = ${operation_id}::uuid and status = 'receiving' returning 1`);
    if (receiving.length === 0) return false;
    await this.database
      .repository(OperationBatchEntity)
      .insert({ operation_id, number, user_ids: null, rows: rows as never });
    return true;
  }

  /** One operation that the condition shows, or null. */
  async find(operation_id: string, visible: SqlFragment): Promise<OperationRecord | null> {
    const [row] = await this.database.run<OperationRecord>(
      sql`select ${columns} from operations where operation_id = ${operation_id}::uuid and ${visible}`,
    );
    return row ?? null;
  }

  /** One page of what the condition shows and the caller's query finds. */
  async list(visible: SqlFragment, query: RawQuery, caller_id: string): Promise<Page<OperationRecord>> {
    const parsed = parseListQuery(query, operationList, caller_id, this.cursors);
    const source = { ...operationListSql, columns, visible };
    return readPage<OperationRecord>(this.database, source, parsed, this.cursors);
  }

  /** An operation, whoever asks; null when it is gone. */
  get(operation_id: string): Promise<OperationRecord | null> {
    return this.find(operation_id, sql`true`);
  }

  /** All that were left out and are kept by name. */
  async skippedOf(operation_id: string): Promise<Record<string, unknown>[]> {
    const [row] = await this.database.run<Pick<OperationRecord, 'skipped'>>(
      sql`select skipped from operations where operation_id = ${operation_id}::uuid`,
    );
    return row?.skipped ?? [];
  }

  /**
   * The operation, locked until the transaction ends; `skip`: null when somebody else is at it,
   * `wait`: once they have done their batch.
   */
  async lock(operation_id: string, others: 'skip' | 'wait'): Promise<OperationRecord | null> {
    const [row] = await this.database.run<OperationRecord>(sql`select ${columns} from operations
      where operation_id = ${operation_id}::uuid for update ${rawSql(others === 'skip' ? 'skip locked' : '')}`);
    return row ?? null;
  }

  /** The next batch of an operation, or null when all are done. */
  async nextBatch(operation_id: string): Promise<number | null> {
    const [row] = await this.database.run<{ number: number | null }>(
      sql`select min(number) as number from operation_batches where operation_id = ${operation_id}::uuid`,
    );
    return row?.number ?? null;
  }

  /** The rows of a batch; none when it is done already. */
  async rowsOf(operation_id: string, number: number): Promise<unknown[]> {
    const batch = await this.database.repository(OperationBatchEntity).findOneBy({ operation_id, number });
    return batch?.rows ?? [];
  }

  /** Counts what became of a batch, keeps the first of those that were skipped, and removes it. */
  async finishBatch(operation_id: string, number: number, outcome: BatchOutcome, skippedKept: number): Promise<void> {
    const { processed, changed, unchanged, skipped_count, skipped_reasons, skipped } = outcome;
    const reasons = sql`(select coalesce(jsonb_object_agg(key, total), '{}') from (select key, sum(value::integer) as total
      from (select * from jsonb_each_text(skipped_reasons) union all select * from jsonb_each_text(${JSON.stringify(skipped_reasons)}::jsonb)) both_of group by key) summed)`;
    const kept = sql`(select coalesce(jsonb_agg(value order by place), '[]') from jsonb_array_elements(skipped || ${JSON.stringify(skipped)}::jsonb)
      with ordinality as every (value, place) where place <= ${skippedKept}::integer)`;
    await this.database
      .run(sql`update operations set processed = processed + ${processed}::integer, changed = changed + ${changed}::integer,
        unchanged = unchanged + ${unchanged}::integer, skipped_count = skipped_count + ${skipped_count}::integer, progressed_at = clock_timestamp(),
        started_at = coalesce(started_at, now()), status = 'running',
        skipped_reasons = case when ${skipped_count}::integer = 0 then skipped_reasons else ${reasons} end,
        skipped = case when ${skipped_count}::integer = 0 or jsonb_array_length(skipped) >= ${skippedKept}::integer then skipped else ${kept} end
      where operation_id = ${operation_id}::uuid`);
    await this.database.repository(OperationBatchEntity).delete({ operation_id, number });
  }

  /**
   * Ends an operation. Its changes can be undone for `undo_days`; null = never.
   * An undo that skipped users, changed none, was canceled or failed leaves its operation undoable.
   */
  async finish(
    operation_id: string,
    status: 'done' | 'canceled' | 'failed',
    undo_days: number | null,
    error_code: string | null,
  ): Promise<void> {
    await this.database
      .run(sql`update operations set status = ${status}, error_code = ${error_code}, finished_at = clock_timestamp(),
        started_at = coalesce(started_at, now()),
        undo_until = case when changed > 0 and kind in ('change', 'delete') then now() + make_interval(days => ${undo_days}::integer) end
      where operation_id = ${operation_id}::uuid and finished_at is null`);
    await this.database.run(sql`update operations set undone_by = null from operations undo
      where undo.operation_id = ${operation_id}::uuid and (undo.status <> 'done' or undo.changed = 0 or undo.skipped_count > 0)
        and operations.operation_id = undo.undo_of and operations.undone_by = undo.operation_id`);
    await this.database.repository(OperationBatchEntity).delete({ operation_id });
  }

  /** An operation that was uploaded now waits for its turn. */
  async accept(operation_id: string): Promise<void> {
    await this.database.run(
      sql`update operations set status = 'waiting', progressed_at = now() where operation_id = ${operation_id}::uuid and status = 'receiving'`,
    );
  }

  /** Notes that an operation is being undone; false when it was before. */
  async noteUndone(operation_id: string, undone_by: string): Promise<boolean> {
    const rows = await this.database.run(sql`update operations set undone_by = ${undone_by}::uuid
      where operation_id = ${operation_id}::uuid and undo_until > now() and undone_by is null returning 1`);
    return rows.length > 0;
  }

  /** Returns the ids of all undos of an operation, in any state. */
  async undosOf(operation_id: string): Promise<string[]> {
    const rows = await this.database.run<{ operation_id: string }>(
      sql`select operation_id from operations where undo_of = ${operation_id}::uuid`,
    );
    return rows.map((undo) => undo.operation_id);
  }

  /** The accepted operation of these kinds that has waited longest, or null. */
  async findOldest(kinds: OperationKind[]): Promise<string | null> {
    const [row] = await this.database.run<{ operation_id: string }>(sql`select operation_id from operations
      where finished_at is null and status <> 'receiving' and kind = any(${kinds}::text[]) order by operation_id limit 1`);
    return row?.operation_id ?? null;
  }

  /** Kinds with accepted operations that nobody has moved for a while. */
  async findStalled(seconds: number): Promise<OperationKind[]> {
    const rows = await this.database.run<{ kind: OperationKind }>(sql`select distinct kind from operations
      where finished_at is null and status <> 'receiving' and progressed_at <= now() - make_interval(secs => ${seconds})`);
    return rows.map(({ kind }) => kind);
  }

  /** Removes operations whose upload has broken off. */
  async removeAbandoned(seconds: number): Promise<void> {
    await this.database.run(
      sql`delete from operations where finished_at is null and status = 'receiving' and progressed_at <= now() - make_interval(secs => ${seconds})`,
    );
  }

  /**
   * Tells the planner what has become of the users: of many that are gone it would speak for a
   * minute yet, and so would the totals of lists.
   */
  async analyze(): Promise<void> {
    await this.database.run(sql`analyze (skip_locked) users, user_search`);
  }

  /** Removes an operation, and what was still to be done. */
  async remove(operation_id: string): Promise<void> {
    await this.database.repository(OperationEntity).delete({ operation_id });
  }

  /**
   * Takes whatever names a person who is purged out of the filters that were asked for: their
   * values, also as words among others, in any case.
   */
  async eraseValues(values: string[]): Promise<void> {
    const words = (text: SqlFragment) => sql`' ' || regexp_replace(lower(${text}), '[^[:alnum:]]+', ' ', 'g') || ' '`;
    const names = sql`filter.key ~ '^(q|name|email|first_name|last_name|phone|attributes)([_.]|$)'
      and exists (select 1 from unnest(${values}::text[]) as value where strpos(${words(rawSql('filter.value'))}, ${words(rawSql('value'))}) > 0)`;
    await this.database.run(sql`update operations set request = jsonb_set(request, '{filters}',
        (select jsonb_object_agg(filter.key, case when ${names} then '(erased)' else filter.value end) from jsonb_each_text(request -> 'filters') filter))
      where exists (select 1 from jsonb_each_text(request -> 'filters') filter where ${names})`);
  }
}
