import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { administratorsLock, isAdministrator } from '../access/administrators.sql';
import { digestSql } from '../common/query/digest';
import { joinSql, rawSql, sql, type SqlFragment } from '../common/query/sql';
import { Database } from '../database/database';
import type { Changes } from '../events/events.service';
import { afterColumns, type Assignment, differsSql } from './user-change';
import { type Deed, refusalSql, staysAdministrator } from './user-rules';

const skippedShown = 100;
const sampleShown = 20;

/**
 * A user that may not be changed, with the code of the rule; for `request.invalid` the field stands
 * after a slash.
 */
export interface SkippedUser {
  user_id: string;
  reason: string;
}

/** What becomes of the users that were found, or would. */
export interface Outcome {
  /** all that were found */
  matched: number;
  /** those that may be changed but already are as wanted */
  unchanged: number;
  /** those that may not be changed, by reason */
  skipped_reasons: Record<string, number>;
  /** the first of them, in order of their ids */
  skipped: SkippedUser[];
}

/** What was done. */
export interface Applied extends Outcome {
  changed_ids: string[];
  /** of those: who is disabled or deleted now */
  shut_out_ids: string[];
  /** of the first that was changed */
  changes: Changes | null;
}

/** What would be done. */
export interface Previewed extends Outcome {
  would_change: number;
  /** of the ids of all that were found */
  digest: string;
  seen_at: Date;
  /** the first of those that would be changed */
  sample_ids: string[];
}

/**
 * The SQL of changing and deleting users: one or all that a filter finds, by the same statements.
 */
@Injectable()
export class UserChangesRepository {
  constructor(private readonly database: Database) {}

  /**
   * If there is a System User among those that a condition finds: until the transaction ends,
   * nobody else changes who is an administrator.
   */
  async lockAdministrators(condition: SqlFragment): Promise<void> {
    await this.database.run(sql`select pg_advisory_xact_lock(${administratorsLock}::bigint)
      from (select 1 from users where ${condition} and users.user_type = 'system' limit 1) found`);
  }

  /** What a deed would do to the users that a condition finds. Writes and locks nothing. */
  async preview(actor: Actor, condition: SqlFragment, deed: Deed, seed: string): Promise<Previewed> {
    const [row] = await this.database.run<Previewed>(sql`with ${judgedSql(actor, condition, deed, false)}
      select ${outcomeSql(null)}, (select ${digestSql('user_id', seed)} from judged) as digest, now() as seen_at,
        (select count(*)::integer from judged where verdict is null and differs) as would_change,
        array(select user_id from judged where verdict is null and differs order by user_id limit ${sampleShown}::integer) as sample_ids`);
    return row as Previewed;
  }

  /**
   * Does a deed to the users that a condition finds, and records before and after of each changed
   * field, in one statement. Users are locked in order of their ids, so that two deeds never
   * deadlock.
   * @param record the statement that records events, of the relation it is given
   * @param wanted ids that should be found, as a query; those that are not are skipped as
   * `user.not_found`
   */
  async apply(
    actor: Actor,
    condition: SqlFragment,
    deed: Deed,
    record: (targets: SqlFragment) => SqlFragment,
    wanted: SqlFragment | null,
  ): Promise<Applied> {
    const sets = deed.assignments.map(({ column }) => rawSql(`${column} = judged.after_${column}, `));
    const shutOut = deed.assignments.flatMap(({ column }) =>
      column === 'status'
        ? [rawSql(`users.status = 'disabled'`)]
        : column === 'deleted_at'
          ? [rawSql('users.deleted_at is not null')]
          : [],
    );
    const [row] = await this.database.run<Applied>(sql`with ${judgedSql(actor, condition, deed, true)},
      changed as (
        update users set ${joinSql(sets, '', '')} updated_at = now(), version = users.version + 1
        from judged where users.user_id = judged.user_id and judged.verdict is null and judged.differs
        returning users.user_id as id, users.carrier_id, users.version, ${changesSql(deed.assignments)} as changes, ${joinSql(shutOut, ' or ', 'false')} as shut_out
      ),
      recorded as (${record(rawSql('changed target'))})
      select ${outcomeSql(wanted)}, array(select id from changed) as changed_ids, array(select id from changed where shut_out) as shut_out_ids, (select changes from changed limit 1) as changes`);
    return row as Applied;
  }

  /** Drops addresses that were proposed and not confirmed yet. */
  async dropProposals(user_ids: string[]): Promise<void> {
    await this.database.run(
      sql`update users set email_pending = null where user_id = any(${user_ids}::uuid[]) and email_pending is not null`,
    );
  }
}

/**
 * The users that a condition finds, each with its new values, whether they differ, and the verdict
 * of the rules: null = may be done.
 */
function judgedSql(actor: Actor, condition: SqlFragment, deed: Deed, lock: boolean): SqlFragment {
  const { assignments, before = { joins: rawSql(''), columns: rawSql('') } } = deed;
  // a preview of a million users would carry what it does not show, and sort it; `offset 0` keeps
  // each new value from being worked out more than once
  const pairs = lock
    ? assignments.map(({ column }) => rawSql(`, users.${column} as before_${column}, users.after_${column}`))
    : [];
  const order = rawSql(lock ? 'order by users.user_id for update of users' : 'offset 0');
  const leaves = rawSql('leaves_administrators and refusal is null');
  return sql`found as materialized (
      select users.user_id, users.carrier_id ${joinSql(pairs, '', '')}, ${refusalSql(actor, deed)} as refusal, ${differsSql(assignments)} as differs,
        (${isAdministrator} and not ${staysAdministrator(deed)}) as leaves_administrators
      from (select users.* ${before.columns} ${afterColumns(assignments)} from users ${before.joins}
        where ${condition} ${order}) users
    ),
    last_administrator as (
      select user_id from found where ${leaves}
        and (select count(*) from users where ${isAdministrator}) <= (select count(*) from found where ${leaves})
      order by user_id limit 1
    ),
    judged as materialized (
      select found.*, case when refusal is null and user_id = (select user_id from last_administrator) then 'user.last_administrator' else refusal end as verdict
      from found
    )`;
}

/** The columns of `Outcome`. */
function outcomeSql(wanted: SqlFragment | null): SqlFragment {
  const refused = rawSql('select user_id, verdict as reason from judged where verdict is not null');
  const skipped =
    wanted === null
      ? refused
      : sql`${refused} union all select user_id, 'user.not_found' from (${wanted}) wanted where user_id not in (select user_id from judged)`;
  return sql`(select count(*)::integer from judged) as matched,
    (select count(*)::integer from judged where verdict is null and not differs) as unchanged,
    (select coalesce(jsonb_object_agg(reason, count), '{}') from (select reason, count(*)::integer as count from (${skipped}) skipped group by reason) counted) as skipped_reasons,
    (select coalesce(jsonb_agg(to_jsonb(skipped) order by user_id), '[]') from (select * from (${skipped}) skipped order by user_id limit ${skippedShown}::integer) skipped) as skipped`;
}

/** Before and after of each field that differs. */
function changesSql(assignments: Assignment[]): SqlFragment {
  const changes = assignments.map(({ column }) =>
    rawSql(`case when judged.before_${column} is distinct from users.${column} then
      jsonb_build_object('${column}', jsonb_build_object('before', judged.before_${column}, 'after', users.${column})) else '{}' end`),
  );
  return joinSql(changes, ' || ', `'{}'::jsonb`);
}
