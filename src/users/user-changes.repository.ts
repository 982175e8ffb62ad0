import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { joinSql, rawSql, sql, type SqlFragment } from '../common/query/sql';
import { Database } from '../database/database';
import type { Changes } from '../events/events.service';
import { type Assignment, differsSql } from './user-change';
import { type Deed, isAdministrator, refusalSql, staysAdministrator } from './user-rules';

/** Any number: whoever may end up removing an administrator waits here for the others. */
const administratorsLock = 7_263_005;

/** A user that was found, with what the rules say of them. */
export interface FoundUser {
  user_id: string;
  carrier_id: string | null;
  version: number;
  /** code of the rule that forbids it, or null */
  refusal: string | null;
  /** whether the change makes a difference */
  differs: boolean;
  /** an administrator now, and none afterwards */
  leaves_administrators: boolean;
}

/** A user that was changed. */
export interface ChangedUser {
  user_id: string;
  carrier_id: string | null;
  changes: Changes;
}

/** The SQL of changing and deleting users: one or all that a filter finds, by the same statements. */
@Injectable()
export class UserChangesRepository {
  constructor(private readonly database: Database) {}

  /** Until the transaction ends, nobody else changes who is an administrator. */
  async lockAdministrators(): Promise<void> {
    await this.database.run(sql`select pg_advisory_xact_lock(${administratorsLock}::bigint)`);
  }

  /** How many administrators there are. */
  async countAdministrators(): Promise<number> {
    const [row] = await this.database.run<{ count: number }>(sql`select count(*)::integer as count from users where ${isAdministrator}`);
    return row?.count ?? 0;
  }

  /** The users that a condition finds, in order of their ids, locked until the transaction ends (unless it is a preview). */
  find(actor: Actor, condition: SqlFragment, deed: Deed, limit: number, lock: boolean): Promise<FoundUser[]> {
    const differs = deed.kind === 'delete' ? rawSql('true') : differsSql(deed.assignments);
    return this.database
      .run(sql`select users.user_id, users.carrier_id, users.version, ${refusalSql(actor, deed)} as refusal, ${differs} as differs,
        (${isAdministrator} and not ${staysAdministrator(deed)}) as leaves_administrators
      from users where ${condition} order by users.user_id limit ${limit} ${rawSql(lock ? 'for update of users' : '')}`);
  }

  /** Changes users and tells before and after of each changed field. */
  change(user_ids: string[], assignments: Assignment[]): Promise<ChangedUser[]> {
    const sets = assignments.map(({ column, value }) => sql`${rawSql(column)} = ${value}`);
    return this.database.run(sql`with before as (select * from users where user_id = any(${user_ids}::uuid[]))
      update users set ${joinSql(sets, ', ')}, updated_at = now(), version = users.version + 1
      from before where users.user_id = before.user_id and ${differsSql(assignments)}
      returning users.user_id, users.carrier_id, ${joinSql(assignments.map(changeSql), ' || ')} as changes`);
  }

  /** Drops addresses that were proposed and not confirmed yet. */
  async dropProposals(user_ids: string[]): Promise<void> {
    await this.database.run(
      sql`update users set email_pending = null where user_id = any(${user_ids}::uuid[]) and email_pending is not null`,
    );
  }

  /** Deletes users softly: name and address are free again, everything else is kept for a restore. */
  delete(user_ids: string[]): Promise<ChangedUser[]> {
    return this.database.run(sql`update users set deleted_at = now(), updated_at = now(), version = version + 1
      where user_id = any(${user_ids}::uuid[]) and deleted_at is null
      returning user_id, carrier_id, jsonb_build_object('deleted_at', jsonb_build_object('before', null, 'after', deleted_at)) as changes`);
  }
}

function changeSql({ column }: Assignment): SqlFragment {
  const [before, after, name] = [rawSql(`before.${column}`), rawSql(`users.${column}`), rawSql(`'${column}'`)];
  return sql`case when ${before} is distinct from ${after} then jsonb_build_object(${name}, jsonb_build_object('before', ${before}, 'after', ${after})) else '{}' end`;
}
