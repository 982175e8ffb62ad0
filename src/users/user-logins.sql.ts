import { sql, type SqlFragment } from '../common/query/sql';
import type { EventBase } from '../events/events.service';
import { recordEventsSql } from '../events/events.sql';
import { userColumns } from './user-columns.sql';

/** What a login persists on the user. */
export interface LoginNote {
  user_id: string;
  ip: string | null;
  /** ends the account lockout that the user shows */
  unlocks: boolean;
}

/**
 * Renders the UPDATE that persists a login on the user, and returns the `UserRecord`.
 * Does not change `version`.
 */
export function noteLoginSql({ user_id, ip, unlocks }: LoginNote): SqlFragment {
  return sql`
    update users
    set
      last_login_at = now(),
      last_login_ip = ${ip}::inet,
      last_seen_at = now(),
      locked_until = case when ${unlocks}::boolean then null else locked_until end
    where user_id = ${user_id}::uuid
    returning ${userColumns}`;
}

/**
 * Renders the statement that makes a user change the password, and records the change of the user.
 * Does nothing if the user must change the password already.
 */
export function demandPasswordChangeSql(user_id: string, event: EventBase): SqlFragment {
  const targets = sql`(
      select
        user_id as id,
        carrier_id,
        '{"must_change_password": {"before": false, "after": true}}'::jsonb as changes,
        version
      from demanded
    ) target`;
  return sql`
    with demanded as (
      update users
      set must_change_password = true, updated_at = now(), version = version + 1
      where user_id = ${user_id}::uuid and not must_change_password
      returning user_id, carrier_id, version
    )
    ${recordEventsSql(event, targets)}`;
}

/** Renders the UPDATE that shows the end of an account lockout. Does not change `version`. */
export function noteLockSql(user_id: string | null, locked_until: Date): SqlFragment {
  return sql`
    update users
    set locked_until = ${locked_until}::timestamptz
    where user_id = ${user_id}::uuid`;
}

/**
 * Renders the UPDATE that persists the last activity of users. Does not change `version`.
 * @param seen FROM item with the alias `seen` and these columns:
 *   `user_id` uuid: the user, once;
 *   `seen_at` timestamptz: time of the activity
 */
export function noteSeenSql(seen: SqlFragment): SqlFragment {
  return sql`
    update users
    set last_seen_at = greatest(users.last_seen_at, seen.seen_at)
    from ${seen}
    where users.user_id = seen.user_id`;
}
