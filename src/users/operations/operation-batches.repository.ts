import { Injectable } from '@nestjs/common';
import type { WorkOwner } from '../../access/admission';
import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import { advisoryLocks } from '../../platform/advisory-locks';
import { Database } from '../../platform/database/database';
import { OperationBatchEntity, type OperationKind, type OperationStatus } from './operation.entity';
import { joinOwner, ownerOfOperation } from './operations.sql';

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
   * Returns the next operation to run, or null. Owners take turns: first the owner who has waited
   * longest since the last batch or, before the first batch, since the operation was accepted. The
   * actors of an owner take turns in the same way, and run their oldest operation first. Owners and
   * actors with a running batch come last.
   * @param passed operations to pass over
   * @param underWay operations that this process prepares or runs
   */
  async findTurn(passed: string[], underWay: string[]): Promise<string | null> {
    const turnOf = (window: SqlFragment) => sql`(
            bool_or(operation_id = any(${underWay}::uuid[])) over ${window},
            coalesce(
              max(progressed_at) filter (where started_at is not null) over ${window},
              min(progressed_at) over ${window}
            )
          )`;
    const [row] = await this.database.run<{ operation_id: string }>(sql`
      select operation_id
      from (
        select
          operation_id,
          ${turnOf(rawSql('of_owner'))} as owner_turn,
          ${turnOf(rawSql('of_actor'))} as actor_turn
        from operations
        ${joinOwner}
        where finished_at is null
          and operations.status <> 'receiving'
        window
          of_owner as (partition by ${ownerOfOperation}),
          of_actor as (partition by actor_type, actor_id)
      ) accepted
      where operation_id <> all(${[...passed, ...underWay]}::uuid[])
      order by owner_turn, actor_turn, operation_id
      limit 1`);
    return row?.operation_id ?? null;
  }

  /** Returns the actor, user and carrier of a batch; null if the operation does not exist. */
  findOwner(operation_id: string): Promise<WorkOwner | null> {
    return this.database.findPrepared<WorkOwner>(sql`
      select
        case actor_type when 'user' then '' else actor_type || ':' end || actor_id as actor,
        coalesce(keys.created_by, actor_id) as user,
        coalesce(keys.carrier_id, users.carrier_id) as carrier
      from operations
      ${joinOwner}
      where operation_id = ${operation_id}::uuid`);
  }

  /**
   * Counts the unfinished imports, or other operations, of a carrier, or else of a user with their
   * keys. Until the transaction ends, no other transaction counts operations.
   */
  async countOf({ user, carrier }: WorkOwner, imports: boolean): Promise<number> {
    await this.database.run(sql`select pg_advisory_xact_lock(${advisoryLocks.operations}::bigint)`);
    const [row] = await this.database.run<{ count: number }>(sql`
      select count(*)::integer as count
      from operations
      ${joinOwner}
      where finished_at is null
        and (kind = 'import') = ${imports}::boolean
        and ${ownerOfOperation} = ${carrier ?? user}`);
    return row?.count ?? 0;
  }

  /** Gives the next turn to another actor. Does not wait for a batch that another process runs. */
  async endTurn(operation_id: string): Promise<void> {
    await this.database.run(sql`
      update operations
      set progressed_at = clock_timestamp()
      where operation_id in (
        select operation_id
        from operations
        where operation_id = ${operation_id}::uuid
        for update skip locked
      )`);
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

  /** Returns the next batch, or null if all batches are done. */
  findNext(operation_id: string): Promise<OperationBatchEntity | null> {
    return this.database
      .repository(OperationBatchEntity)
      .findOne({ where: { operation_id }, order: { number: 'ASC' } });
  }

  /**
   * Returns whether another operation still has to process one of these users. The ids of a batch
   * are sorted, so the first and the last id rule out most batches.
   * @param created_at time of this operation: searches only operations that were accepted earlier;
   * null = all other operations
   */
  async overlaps(operation_id: string, user_ids: string[], created_at: Date | null = null): Promise<boolean> {
    const others =
      created_at === null
        ? sql`operation_id <> ${operation_id}::uuid`
        : sql`(created_at, operation_id) < (${created_at}::timestamptz, ${operation_id}::uuid)`;
    const rows = await this.database.run(sql`
      with mine as materialized (select unnest(${user_ids}::uuid[]) as user_id)
      select 1
      from operations
      join operation_batches using (operation_id)
      cross join unnest(user_ids) as their (user_id)
      where operations.finished_at is null
        and ${others}
        and user_ids[1] <= (select user_id from mine order by user_id desc limit 1)
        and user_ids[cardinality(user_ids)] >= (select user_id from mine order by user_id limit 1)
        -- IS TRUE prevents a join: PostgreSQL searches a hash instead. In a join it would compare
        -- each row with each other row, because the planner expects ten rows on both sides.
        and (their.user_id in (select user_id from mine)) is true
      limit 1`);
    return rows.length > 0;
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

  async remove({ operation_id, number }: OperationBatchEntity): Promise<void> {
    await this.database.repository(OperationBatchEntity).delete({ operation_id, number });
  }

  /**
   * Splits a batch of a locked operation in two, and ends the turn of its actor. The first half has
   * at least `min` users or rows and a number below all others, because batches run in the order of
   * their numbers. Returns false if the batch is too small.
   */
  async halve({ operation_id, number, user_ids, rows }: OperationBatchEntity, min: number): Promise<boolean> {
    const { length } = user_ids ?? rows ?? [];
    if (length <= min) return false;
    const half = Math.max(min, Math.ceil(length / 2));
    const part = (from: number, to: number) => ({
      user_ids: user_ids?.slice(from, to) ?? null,
      rows: (rows as object[] | null)?.slice(from, to) ?? null,
    });
    const batches = this.database.repository(OperationBatchEntity);
    await batches.insert({ operation_id, number: number - 1, ...part(0, half) });
    await batches.update({ operation_id, number }, part(half, length));
    await this.endTurn(operation_id);
    return true;
  }

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
