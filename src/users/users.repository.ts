import { administratorsLock } from '../access/administrators.sql';
import { Injectable } from '@nestjs/common';
import { CursorCodec } from '../common/query/cursor';
import type { RawQuery } from '../common/query/filter';
import { parseListQuery } from '../common/query/list-query';
import { type Page, readPage } from '../common/query/page';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import type { Answered } from '../common/times';
import { Database } from '../database/database';
import { networksSql } from './user-change';
import type { UserEntity } from './user.entity';
import { userList } from './user-list';
import { userListSql } from './user-list.sql';
import { userColumns } from './user-columns.sql';
import { isTaken } from './user-rules';
import type { UserRecord } from './users.dto';

/** A user to be added. */
export type NewUser = Pick<
  UserEntity,
  | 'user_id'
  | 'user_type'
  | 'name'
  | 'email'
  | 'first_name'
  | 'last_name'
  | 'phone'
  | 'locale'
  | 'timezone'
  | 'carrier_id'
  | 'carrier_scope'
  | 'roles'
  | 'status'
  | 'allowed_ips'
  | 'attributes'
  | 'must_change_password'
  | 'created_by'
>;

type TakenCode = 'user.name_taken' | 'user.email_taken';

/** The SQL of users. */
@Injectable()
export class UsersRepository {
  constructor(
    private readonly database: Database,
    private readonly cursors: CursorCodec,
  ) {}

  /** The one user that a condition shows, or null. */
  async find(condition: SqlFragment): Promise<UserRecord | null> {
    const [row] = await this.database.runPrepared<UserRecord>(
      sql`select ${userColumns} from users where ${condition} limit 1`,
    );
    return row ?? null;
  }

  /**
   * The living user with this name or e-mail address, without regard to case. Names have no `@`,
   * addresses do.
   */
  findByLogin(login: string): Promise<UserRecord | null> {
    const column = rawSql(login.includes('@') ? 'users.email' : 'users.name');
    return this.find(sql`lower(${column}) = lower(${login}::text) and users.deleted_at is null`);
  }

  /**
   * One page of the living or the deleted, of what the condition shows and the caller's query
   * finds.
   */
  async list(
    visible: SqlFragment,
    query: RawQuery,
    caller_id: string,
    deleted: boolean,
  ): Promise<Page<Answered<UserRecord>>> {
    const parsed = parseListQuery(
      query,
      { ...userList, name: deleted ? 'deleted users' : 'users' },
      caller_id,
      this.cursors,
    );
    const state = rawSql(deleted ? 'users.deleted_at is not null' : 'users.deleted_at is null');
    const source = {
      ...userListSql,
      columns: userColumns,
      visible: sql`${state} and ${visible}`,
    };
    return readPage<Answered<UserRecord>>(this.database.answers, source, parsed, this.cursors);
  }

  /** The first users that a condition finds, for a preview. */
  sample(user_ids: string[]): Promise<UserRecord[]> {
    return this.database.run(
      sql`select ${userColumns} from users where users.user_id = any(${user_ids}::uuid[]) order by users.user_id`,
    );
  }

  /** Returns the error code if another user has the name or address, or null. */
  async findTaken(name: string, email: string): Promise<TakenCode | null> {
    const [row] = await this.database.runPrepared<{ code: TakenCode | null }>(sql`select case
      when ${isTaken('name', sql`${name}::text`)} then 'user.name_taken'
      when ${isTaken('email', sql`${email}::text`)} then 'user.email_taken' end as code`);
    return row?.code ?? null;
  }

  /** Adds a user; uniqueness is decided by the indexes. */
  async insert(user: NewUser): Promise<UserRecord> {
    const [row] = await this.database
      .run<UserRecord>(sql`insert into users (user_id, user_type, name, email, first_name, last_name, phone, locale, timezone,
        carrier_id, carrier_scope, roles, status, allowed_ips, attributes, must_change_password, created_by)
      values (${user.user_id}, ${user.user_type}, ${user.name}, ${user.email}, ${user.first_name}, ${user.last_name}, ${user.phone}, ${user.locale}, ${user.timezone},
        ${user.carrier_id}, ${user.carrier_scope}, ${user.roles}::text[], ${user.status}, ${networksSql(user.allowed_ips)}, ${JSON.stringify(user.attributes)}::jsonb,
        ${user.must_change_password}, ${user.created_by})
      returning ${userColumns}`);
    return row as UserRecord;
  }

  /**
   * Notes a new password; null when it is not the one that was verified that it takes the place of.
   * A proposed address is dropped: whoever knew the old password may have proposed it. A reset
   * proves the address and lifts the lock.
   */
  async notePassword(
    user_id: string,
    proven_email: string | null,
    verified: { password_changed_at: Date | null } | null,
  ): Promise<UserRecord | null> {
    const unchanged =
      verified === null
        ? sql`true`
        : sql`password_changed_at is not distinct from ${verified.password_changed_at}::timestamptz`;
    const [row] = await this.database
      .run<UserRecord>(sql`update users set password_changed_at = now(), must_change_password = false, email_pending = null, updated_at = now(), version = version + 1,
        locked_until = case when ${proven_email}::text is null then locked_until end,
        email_verified_at = case when lower(email) = lower(${proven_email}::text) then now() else email_verified_at end,
        status = case when status = 'invited' then 'active' else status end
      where user_id = ${user_id}::uuid and deleted_at is null and status <> 'disabled' and ${unchanged} returning ${userColumns}`);
    return row ?? null;
  }

  /** Notes the time of the password that a user was created with. */
  async notePasswordSet(user_id: string): Promise<UserRecord> {
    const [row] = await this.database.run<UserRecord>(
      sql`update users set password_changed_at = now() where user_id = ${user_id}::uuid returning ${userColumns}`,
    );
    return row as UserRecord;
  }

  /** Puts the proposed address in force, if it still is the one that was confirmed. */
  async confirmEmail(user_id: string, email: string): Promise<UserRecord | null> {
    const [row] = await this.database
      .run<UserRecord>(sql`update users set email = email_pending, email_pending = null, email_verified_at = now(), updated_at = now(),
        version = version + 1 where user_id = ${user_id}::uuid and email_pending = ${email} and deleted_at is null and status <> 'disabled' returning ${userColumns}`);
    return row ?? null;
  }

  /** Brings a deleted user back; the indexes decide whether name and address are still free. */
  async restore(user_id: string, allowed_roles: string[]): Promise<UserRecord | null> {
    const roles = sql`array(select role from unnest(roles) role where role = any(${allowed_roles}::text[]) order by role)`;
    const [row] = await this.database
      .run<UserRecord>(sql`update users set deleted_at = null, roles = ${roles}, updated_at = now(), version = version + 1
      where user_id = ${user_id}::uuid and deleted_at is not null returning ${userColumns}`);
    return row ?? null;
  }

  /**
   * Returns whether there is no user at all, deleted ones included. Waits for other transactions that
   * may be creating the first administrator.
   */
  async isEmpty(): Promise<boolean> {
    await this.database.run(sql`select pg_advisory_xact_lock(${administratorsLock}::bigint)`);
    const rows = await this.database.run(sql`select 1 from users limit 1`);
    return rows.length === 0;
  }

  /** Deletes users with their data. A trigger keeps their ids in `user_tombstones`. */
  async purge(user_ids: string[]): Promise<void> {
    await this.database.run(sql`delete from users where user_id = any(${user_ids}::uuid[])`);
  }
}
