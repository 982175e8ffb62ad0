import { Injectable } from '@nestjs/common';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import type { AttemptState } from '../credentials/login-attempts.service';
import { Database } from '../database/database';
import type { UserRecord } from '../users/users.dto';
import { userColumns } from '../users/user-columns.sql';

/** A living user who wants to log in, or nobody (all null), and what became of the attempt. */
export type AttemptRecord = AttemptState & (FoundRecord | { user_id: null });

/** A living user, and what decides about their login. */
type FoundRecord = UserRecord & {
  password_hash: string | null;
  policy_checked: boolean | null;
  ip_allowed: boolean | null;
  row_version: string;
};

/** Optional effects of a login on the user. */
export interface LoginEffects {
  /** ends the account lockout */
  lifts_lock: boolean;
  /** sets `must_change_password` */
  demands_change: boolean;
}

/**
 * Another one with whatever is written to the row, `version` or not; it is never told to anybody.
 */
const rowVersion = rawSql('users.xmin::text as row_version');

/** The SQL of attempts to log in. */
@Injectable()
export class UserAttemptsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Looks for a living user and begins an attempt, found or not: `begin` is the statement for it,
   * which takes the user from `found`.
   */
  async begin(condition: SqlFragment, ip: string | null, begin: SqlFragment): Promise<AttemptRecord> {
    const [row] = await this.database.runPrepared<AttemptRecord>(sql`with found as (
        select ${userColumns}, ${rowVersion}, (cardinality(users.allowed_ips) = 0 or ${ip}::inet <<= any(users.allowed_ips)) as ip_allowed,
          case when users.status = 'active' and (credentials.expires_at is null or credentials.expires_at > now()) then credentials.password_hash end as password_hash,
          credentials.policy_checked
        from users left join credentials on credentials.user_id = users.user_id where ${condition} and users.deleted_at is null limit 1),
      attempt as (${begin})
      select * from attempt left join found on true`);
    return row as AttemptRecord;
  }

  /**
   * Persists a login with its effects. An initial password that was used no longer expires,
   * and an imported password counts as checked by the policy. Otherwise leaves `credentials` alone.
   * Returns null if the user changed since `row_version`, or the password since it was verified.
   * Changes `version` only if the login sets `must_change_password`.
   * @param after further parts of the statement that read `noted`; the columns of `opened` are
   * returned
   */
  async noteLogin<Opened>(
    { user_id, password_changed_at, row_version }: Pick<FoundRecord, 'user_id' | 'password_changed_at' | 'row_version'>,
    ip: string | null,
    { lifts_lock, demands_change }: LoginEffects,
    after: SqlFragment,
  ): Promise<(UserRecord & Opened) | null> {
    const locked_until = rawSql(lifts_lock ? 'null' : 'locked_until');
    // Of two concurrent first logins, only one changes the version.
    const demand = `must_change_password = true, updated_at = now(),
      version = version + (not must_change_password)::integer,`;
    const [row] = await this.database.runPrepared<UserRecord & Opened>(sql`with noted as (
        update users set ${rawSql(demands_change ? demand : '')}
          last_login_at = now(), last_login_ip = ${ip}::inet, last_seen_at = now(), locked_until = ${locked_until}
        where user_id = ${user_id}::uuid and users.xmin = ${row_version}::xid
          and status = 'active' and deleted_at is null and password_changed_at is not distinct from ${password_changed_at}::timestamptz
          and (cardinality(allowed_ips) = 0 or ${ip}::inet <<= any(allowed_ips))
        returning ${userColumns}),
      kept as (update credentials set expires_at = null, policy_checked = true from noted
        where credentials.user_id = noted.user_id and (credentials.expires_at is not null or not credentials.policy_checked)),
      ${after}
      select * from noted, opened`);
    return row ?? null;
  }

  /**
   * Locks a user for the transaction; null locks nobody, by the same statement. Returns the
   * `row_version`, which nobody else can change then.
   */
  async lock(user_id: string | null): Promise<string | null> {
    const [row] = await this.database.runPrepared<{ row_version: string }>(
      sql`select ${rowVersion} from users where user_id = ${user_id}::uuid for no key update`,
    );
    return row?.row_version ?? null;
  }

  /** Shows until when strangers cannot log in as a user. `version` stays. */
  async noteLock(user_id: string | null, locked_until: Date | null): Promise<void> {
    await this.database.runPrepared(
      sql`update users set locked_until = ${locked_until}::timestamptz where user_id = ${user_id}::uuid`,
    );
  }
}
