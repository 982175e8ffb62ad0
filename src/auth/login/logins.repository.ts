import { Injectable } from '@nestjs/common';
import type { FactorKind } from '../../access/actor';
import { currentTime } from '../../platform/clock';
import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import type { StoredPassword } from '../passwords/credentials.service';
import { Database } from '../../platform/database/database';
import type { EventBase } from '../../audit/event-base';
import { rights } from '../tokens/live-logins.repository';
import {
  demandPasswordChangeSql,
  type LoginNote,
  noteLockSql,
  noteLoginSql,
  userColumns,
  userJoins,
} from '../../users/users.sql';
import type { UserRecord } from '../../users/users.dto';

/** A login holds a connection while it waits for a bulk change. Deadlocks are found after 1 s. */
const lockPatience = rawSql(`(select set_config('lock_timeout', '2s', true) offset 0) patience`);

/** Identifies the user whose password is verified. A `login` is a name or an e-mail address. */
export type LoginClaim = { login: string } | { user_id: string };

/** The user of a claim. */
export type ClaimedUser = Pick<UserRecord, 'user_id' | 'carrier_id'>;

/** A user who is not deleted, with the stored password. */
export type LoginRecord = UserRecord & StoredPassword;

/** The user of a login that was persisted. */
export interface NotedLogin extends UserRecord {
  /** whether the factors of the user were reset, and the user has enrolled none since */
  factors_were_reset: boolean;
}

/** Error code of a login that is rejected although the password was right. */
export type LoginRejection = 'auth.invalid_credentials' | 'auth.ip_not_allowed';

/** What decides whether a user may log in. */
export interface LoginState {
  /** why the user may not log in, or null */
  rejection: LoginRejection | null;
  /** kinds of the confirmed second factors */
  second_factors: readonly FactorKind[];
  carrier_id: string | null;
  /** permissions of all roles */
  permissions: string[];
}

/** State of a user who was locked for a login. */
export interface LoginLock extends LoginState {
  /** time of the lock, by the clock of the database */
  locked_at: Date;
}

/** Renders whether an initial password has expired. Needs `credentials`. */
export const hasExpired = rawSql('coalesce(credentials.expires_at <= now(), false)');

/** Renders whether an address is outside the `allowed_ips` of the user. Needs `users`. */
export function isOutside(ip: SqlFragment): SqlFragment {
  return sql`cardinality(allowed_ips) > 0 and not coalesce(${ip} <<= any(allowed_ips), false)`;
}

const missingState = { second_factors: [], carrier_id: null, permissions: [] };
const missingUser: LoginState = { rejection: 'auth.invalid_credentials', ...missingState };

/** The SQL of logins. */
@Injectable()
export class LoginsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Returns the id and carrier of the user with a lower-case login or with an id, or null. Finds no
   * deleted users. A login with `@` is an e-mail address, because names contain no `@`.
   */
  findClaimed(claim: LoginClaim): Promise<ClaimedUser | null> {
    return this.database.findPrepared<ClaimedUser>(sql`
      select users.user_id, users.carrier_id
      from users
      where ${matches(claim)} and users.deleted_at is null
      limit 1`);
  }

  /**
   * Returns a user with the stored password, or null. Deleted users are not found. Runs the same
   * statement for null, so that a missing user takes as long (L19).
   */
  find(user_id: string | null): Promise<LoginRecord | null> {
    return this.database.findPrepared<LoginRecord>(sql`
      select
        ${userColumns},
        case
          when users.status <> 'invited' and not ${hasExpired}
          then credentials.password_hash
        end as password_hash,
        users.status <> 'active' as rejected,
        coalesce(credentials.policy_checked, false) as policy_checked,
        credentials.expires_at is not null as initial
      from users
      ${userJoins}
      left join credentials on credentials.user_id = users.user_id
      where users.user_id = ${user_id}::uuid and users.deleted_at is null`);
  }

  /**
   * Locks a user. Returns why the user may not log in, if at all, and the factors of the user.
   * Call it first in the transaction of a login. A change since the password was verified wins: a
   * disabled or deleted user, or a user with another password, is not logged in (CVE-2026-1609).
   * @param password_changed_at value of the user when the password was verified; undefined for a
   * login without a password
   */
  async lockForLogin(
    user_id: string,
    password_changed_at: Date | null | undefined,
    ip: string | null,
  ): Promise<LoginLock> {
    const [row] = await this.database.runPrepared<LoginLock>(sql`
      select
        ${loginState(ip, password_changed_at)},
        now() as locked_at
      from users, ${lockPatience}
      where user_id = ${user_id}::uuid
      for no key update of users`);
    // The user was purged since the password was verified.
    return row ?? { ...missingUser, locked_at: currentTime() };
  }

  /** Returns the same as `lockForLogin` without a lock, for responses that change nothing. */
  async findForLogin(user_id: string, password_changed_at: Date | null, ip: string | null): Promise<LoginState> {
    const [row] = await this.database.runPrepared<LoginState>(sql`
      select
        ${loginState(ip, password_changed_at)}
      from users
      where user_id = ${user_id}::uuid`);
    return row ?? missingUser;
  }

  /**
   * Locks a user, and returns the kinds of the confirmed second factors. Runs the same statement
   * for null, so that a missing user takes as long (L19).
   */
  async lock(user_id: string | null): Promise<FactorKind[]> {
    const [row] = await this.database.runPrepared<{ second_factors: FactorKind[] }>(sql`
      select second_factors
      from users, ${lockPatience}
      where user_id = ${user_id}::uuid
      for no key update of users`);
    return row?.second_factors ?? [];
  }

  /** Persists a login on the locked user. */
  async noteLogin(login: LoginNote): Promise<NotedLogin> {
    const [row] = await this.database.runPrepared<NotedLogin>(noteLoginSql(login));
    return row as NotedLogin;
  }

  /** Makes a locked user change the password. Does nothing if a change is already required. */
  async demandPasswordChange(user_id: string, event: EventBase): Promise<void> {
    await this.database.runPrepared(demandPasswordChangeSql(user_id, event));
  }

  /** Shows the end of an account lockout on a locked user, or no lockout. */
  async noteLock(user_id: string | null, locked_until: Date | null): Promise<void> {
    await this.database.runPrepared(noteLockSql(user_id, locked_until));
  }
}

/** Selects a `LoginState`. */
function loginState(ip: string | null, password_changed_at: Date | null | undefined): SqlFragment {
  const stale =
    password_changed_at === undefined
      ? sql`false`
      : sql`password_changed_at is distinct from ${password_changed_at}::timestamptz`;
  return sql`case
          when deleted_at is not null or status <> 'active' or ${stale}
          then 'auth.invalid_credentials'
          when ${isOutside(sql`${ip}::inet`)}
          then 'auth.ip_not_allowed'
        end as rejection,
        second_factors,
        carrier_id,
        ${rights}`;
}

function matches(claim: LoginClaim): SqlFragment {
  if ('user_id' in claim) return sql`users.user_id = ${claim.user_id}::uuid`;
  return claim.login.includes('@')
    ? sql`lower(users.email) = ${claim.login}::text`
    : sql`lower(users.name) = ${claim.login}::text`;
}
