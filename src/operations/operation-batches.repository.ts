import { Injectable } from '@nestjs/common';
import type { WorkOwner } from '../access/admission';
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

  /**
   * Returns the accepted operation whose turn it is, or null. The actor whose last batch, or else
   * first accepted operation, is the longest ago comes first, with the oldest operation. An actor
   * with a batch under way comes last.
   * @param passed operations to pass over
   */
  async findTurn(passed: string[], underWay: string[]): Promise<string | null> {
    const [row] = await this.database.run<{ operation_id: string }>(sql`
      select operation_id
      from (
        select
          operation_id,
          coalesce(
            max(progressed_at) filter (where started_at is not null) over of_actor,
            min(progressed_at) over of_actor
          ) as last_turn_at,
          bool_or(operation_id = any(${underWay}::uuid[])) over of_actor as has_turn
        from operations
        where finished_at is null
          and status <> 'receiving'
        window of_actor as (partition by actor_type, actor_id)
      ) accepted
      where operation_id <> all(${[...passed, ...underWay]}::uuid[])
      order by has_turn, last_turn_at, operation_id
      limit 1`);
    return row?.operation_id ?? null;
  }

  /** Returns whose share of the connections a batch of an operation uses; null if it is gone. */
  async findOwner(operation_id: string): Promise<WorkOwner | null> {
    const [row] = await this.database.runPrepared<WorkOwner>(sql`
      select
        case actor_type when 'user' then '' else actor_type || ':' end || actor_id as actor,
        coalesce(keys.created_by, actor_id) as user,
        coalesce(keys.carrier_id, users.carrier_id) as carrier
      from operations
      left join keys on actor_type = 'key' and key_id = actor_id
      left join users on users.user_id = case actor_type when 'user' then actor_id else keys.created_by end
      where operation_id = ${operation_id}::uuid`);
    return row ?? null;
  }

  /** Returns whether an accepted operation has made no progress for this time. */
  async hasStalled(seconds: number): Promise<boolean> {
    const rows = await this.database.run(sql`
      select 1
      from operations
      where finished_at is null
        and status <> 'receiving'
        and progressed_at <= now() - make_interval(secs => ${seconds})
      limit 1`);
    return rows.length > 0;
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

  /**
   * Splits a batch in two, of which the first has at least `min` users or rows. Ends the turn of
   * the actor. The first half gets the number before: batches are done in the order of their
   * numbers, so none is left there. Returns false if the batch is too small or done.
   */
  async halve(operation_id: string, number: number, min: number): Promise<boolean> {
    const halved = await this.database.run(sql`
      with batch as (
        select operation_id, number, user_ids, rows, greatest(${min}::integer, (size + 1) / 2) as half
        from operation_batches
        cross join lateral (select coalesce(cardinality(user_ids), jsonb_array_length(rows)) as size) counted
        where operation_id = ${operation_id}::uuid
          and number = ${number}::integer
          and size > ${min}::integer
      ),
      first_half as (
        insert into operation_batches (operation_id, number, user_ids, rows)
        select
          operation_id, number - 1, user_ids[:half],
          jsonb_path_query_array(rows, format('$[0 to %s]', half - 1)::jsonpath)
        from batch
      ),
      turn as (
        update operations
        set progressed_at = clock_timestamp()
        where operation_id in (select operation_id from batch)
      )
      update operation_batches
      set
        user_ids = batch.user_ids[half + 1:],
        rows = jsonb_path_query_array(batch.rows, format('$[%s to last]', half)::jsonpath)
      from batch
      where operation_batches.operation_id = batch.operation_id
        and operation_batches.number = batch.number
      returning 1`);
    return halved.length > 0;
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
