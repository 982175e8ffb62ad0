import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { permitsAll } from '../access/administrators.sql';
import type { Scope } from '../access/scope';
import type { Condition } from '../http/lists/filter';
import { type Page, readPage } from '../http/lists/page';
import { rawSql, sql, type SqlFragment } from '../http/lists/sql';
import type { Answered } from '../platform/times';
import { advisoryLocks } from '../platform/advisory-locks';
import { Database } from '../platform/database/database';
import type { Changes } from '../audit/event.entity';
import type { EventBase } from '../audit/event-base';
import { recordEventsSql } from '../audit/events.sql';
import type { AppliedAction, CheckedAction, PreviewedAction, UserAction } from './changes/user-change';
import { applyActionSql, previewActionSql, targetSql } from './changes/user-changes.sql';
import type { NewUserValues } from './user-fields';
import type { UserEntity } from './user.entity';
import { deletedUserList, userList, type UserListQuery } from './user-list';
import { userListSql } from './user-list.sql';
import type { UserRecord } from './users.dto';
import {
  insertUsersSql,
  ofHolder,
  newUserColumns,
  returningUsers,
  userColumns,
  userJoins,
  visibleUsers,
} from './users.sql';

/** A new user. */
export type NewUser = NewUserValues & Pick<UserEntity, 'user_id'> & { has_password: boolean };

/** SQL of the users. */
@Injectable()
export class UsersRepository {
  constructor(private readonly database: Database) {}

  /** Returns a user within a scope, or null. Deleted users are not found. */
  async find(user_id: string, scope: Scope): Promise<Answered<UserRecord> | null> {
    const condition = sql`users.user_id = ${user_id}::uuid and users.deleted_at is null`;
    const [row] = await this.database.answers.runPrepared<Answered<UserRecord>>(selectSql(condition, scope));
    return row ?? null;
  }

  /** Returns a user within a scope, deleted or not, or null. */
  findWithDeleted(user_id: string, scope: Scope): Promise<UserRecord | null> {
    return this.findWhere(sql`users.user_id = ${user_id}::uuid`, scope);
  }

  /**
   * Returns the user within a scope that has a name or e-mail address, without regard to case, or
   * null. A login with `@` is an e-mail address. Deleted users are not found.
   */
  findByLogin(login: string, scope: Scope): Promise<UserRecord | null> {
    const column = rawSql(login.includes('@') ? 'users.email' : 'users.name');
    return this.findWhere(sql`lower(${column}) = lower(${login}::text) and users.deleted_at is null`, scope);
  }

  /** Returns a user within a scope if a role permits everything to the user, otherwise null. */
  findAdministrator(user_id: string, scope: Scope): Promise<UserRecord | null> {
    return this.findWhere(sql`users.user_id = ${user_id}::uuid and ${permitsAll}`, scope);
  }

  private findWhere(condition: SqlFragment, scope: Scope): Promise<UserRecord | null> {
    return this.database.findPrepared<UserRecord>(selectSql(condition, scope));
  }

  /**
   * Returns one page of the users within a scope that match a query.
   * The page contains only deleted users or no deleted users.
   */
  list(scope: Scope, query: UserListQuery, queries = this.database.answers): Promise<Page<Answered<UserRecord>>> {
    const list = query.deleted ? deletedUserList : userList;
    const state = rawSql(query.deleted ? 'users.deleted_at is not null' : 'users.deleted_at is null');
    const visible = sql`${state} and ${visibleUsers(scope)}`;
    const filter = { ...userListSql.filter, spec: list.filter };
    const source = { ...userListSql, list, filter, columns: userColumns, visible };
    return readPage<Answered<UserRecord>>(queries, source, query);
  }

  listByIds(user_ids: string[], scope: Scope): Promise<UserRecord[]> {
    const found = selectSql(sql`users.user_id = any(${user_ids}::uuid[])`, scope);
    return this.database.run(sql`${found}
      order by users.user_id`);
  }

  /**
   * Returns the sorted ids of deleted users whose name or address a user outside a scope has.
   * @param scope null = every user is outside
   */
  async findHiddenConflicts(user_ids: string[], scope: Scope | null): Promise<string[]> {
    const hidden = scope === null ? sql`true` : sql`not ${visibleUsers(scope, 'other')}`;
    const holder = (column: 'name' | 'email') => ofHolder(column, rawSql(`users.${column}`), hidden);
    const rows = await this.database.run<{ user_id: string }>(sql`
      select user_id
      from users
      where user_id = any(${user_ids}::uuid[]) and deleted_at is not null
        and (${holder('name')} or ${holder('email')})
      order by user_id`);
    return rows.map(({ user_id }) => user_id);
  }

  /**
   * Adds a user and records the event, in one statement. The unique indexes decide whether name and
   * address are free.
   */
  async insert(user: NewUser, created_by: string | null, event: EventBase, changes: Changes): Promise<UserRecord> {
    const row = JSON.stringify([user]);
    const source = sql`jsonb_to_recordset(${row}::jsonb) as row (has_password boolean, ${newUserColumns})`;
    const targets = sql`(
        select user_id as id, carrier_id, ${JSON.stringify(changes)}::jsonb as changes, null::integer as version
        from written
      ) target`;
    const [created] = await this.database.runPrepared<UserRecord>(
      returningUsers(insertUsersSql(source, created_by), recordEventsSql(event, targets)),
    );
    return created as UserRecord;
  }

  /** Returns what an action would do to the users that match a filter. Writes and locks nothing. */
  async preview(actor: Actor, checked: CheckedAction, conditions: Condition[], seed: string): Promise<PreviewedAction> {
    const [row] = await this.database.run<PreviewedAction>(previewActionSql(actor, checked, conditions, seed));
    return row as PreviewedAction;
  }

  /**
   * Applies an action to users, in the order of their ids, and records its events, in one
   * statement. Without `event`, the caller records them.
   */
  async apply(actor: Actor, checked: CheckedAction, ids: string[], event: EventBase | null): Promise<AppliedAction> {
    const [row] = await this.database.run<AppliedAction>(applyActionSql(actor, checked, ids, event));
    return row as AppliedAction;
  }

  /**
   * Locks the set of administrators until the transaction ends, if an action finds a System User.
   * Other actions that could remove an administrator wait for the lock.
   */
  async lockAdministrators(actor: Actor, action: UserAction, user_ids: string[]): Promise<void> {
    await this.database.run(sql`
      select pg_advisory_xact_lock(${advisoryLocks.administrators}::bigint)
      from (
        select 1 from users
        where ${targetSql(actor, action, user_ids)}
          and users.user_type = 'system'
        limit 1
      ) found`);
  }

  async dropProposedEmails(user_ids: string[]): Promise<void> {
    await this.database.run(sql`
      update users set email_pending = null
      where user_id = any(${user_ids}::uuid[]) and email_pending is not null`);
  }

  /**
   * Notes that a user has a new password. Returns null if the password changed since it was
   * verified, or if the user is disabled or deleted.
   * Drops a proposed address: a thief of the old password may have proposed it. A reset proves the
   * address and ends the account lockout.
   * @param restores whether the proven address becomes the address of the user again
   */
  notePassword(
    user_id: string,
    proven_email: string | null,
    verified: { password_changed_at: Date | null } | null,
    restores = false,
  ): Promise<UserRecord | null> {
    const email = restores ? sql`${proven_email}::text` : rawSql('email');
    const unchanged =
      verified === null
        ? sql`true`
        : sql`password_changed_at is not distinct from ${verified.password_changed_at}::timestamptz`;
    return this.update(sql`
        update users
        set
          password_changed_at = now(),
          must_change_password = false,
          email = ${email},
          email_pending = null,
          updated_at = now(),
          version = version + 1,
          locked_until = case when ${proven_email}::text is null then locked_until end,
          email_verified_at = case
            when lower(${email}) = lower(${proven_email}::text) then now()
            else email_verified_at
          end,
          status = case when status = 'invited' then 'active' else status end
        where user_id = ${user_id}::uuid
          and deleted_at is null and status <> 'disabled'
          and ${unchanged}`);
  }

  /**
   * Replaces the address of a user by the proposed address. Returns null if another or no address
   * is proposed by now, or if the user is disabled or deleted.
   */
  confirmEmail(user_id: string, email: string): Promise<UserRecord | null> {
    return this.update(sql`
        update users
        set
          email = email_pending,
          email_pending = null,
          email_verified_at = now(),
          updated_at = now(),
          version = version + 1
        where user_id = ${user_id}::uuid
          and email_pending = ${email}
          and deleted_at is null
          and status <> 'disabled'`);
  }

  /**
   * Restores a deleted user, with the roles that are open. Returns null if the user is not deleted
   * or has another version. The unique indexes decide whether name and address are free.
   */
  restore(user_id: string, version: number, open_roles: string[]): Promise<UserRecord | null> {
    return this.update(sql`
        update users
        set
          deleted_at = null,
          roles = array(select role from unnest(roles) role where role = any(${open_roles}::text[]) order by role),
          updated_at = now(),
          version = version + 1
        where user_id = ${user_id}::uuid
          and version = ${version}::integer and deleted_at is not null`);
  }

  private update(update: SqlFragment): Promise<UserRecord | null> {
    return this.database.find<UserRecord>(returningUsers(update));
  }

  /**
   * Returns whether there is no user, not even a deleted user. Waits for other transactions that
   * may be creating the first administrator.
   */
  async isEmpty(): Promise<boolean> {
    const found = async () => (await this.database.run(sql`select 1 from users limit 1`)).length > 0;
    // Locks only an empty table, because a bulk change may hold the lock when an instance starts.
    if (await found()) return false;
    await this.database.run(sql`select pg_advisory_xact_lock(${advisoryLocks.administrators}::bigint)`);
    return !(await found());
  }

  /**
   * Locks up to `max` users who were deleted at least `days` days ago, and returns their ids. Skips
   * users that another transaction has locked, such as a restore.
   */
  async lockDeleted(days: number, max: number): Promise<string[]> {
    const rows = await this.database.run<{ user_id: string }>(sql`
      select user_id
      from users
      where deleted_at <= now() - make_interval(hours => 24 * ${days}::integer)
      order by deleted_at, user_id
      limit ${max}::integer
      for update skip locked`);
    return rows.map(({ user_id }) => user_id);
  }

  /** Deletes users with their data. A trigger keeps their ids in `user_tombstones`. */
  async purge(user_ids: string[]): Promise<void> {
    await this.database.run(sql`delete from users where user_id = any(${user_ids}::uuid[])`);
  }
}

function selectSql(condition: SqlFragment, scope: Scope): SqlFragment {
  return sql`
      select ${userColumns}
      from users
      ${userJoins}
      where ${condition}
        and ${visibleUsers(scope)}`;
}
