import type { Scope } from '../access/scope';
import { visibleTo } from '../access/scope.sql';
import { joinSql, rawSql, sql, type SqlFragment } from '../http/lists/sql';
import type { EventBase } from '../audit/event-base';
import { recordEventsSql } from '../audit/events.sql';
import { type UserField, userFields } from './user-fields';
import { activityJoins, mustEnrollSql, onlineSql } from './user-list.sql';

/** Returns the column of a user field, such as `users.name` or `user_seen.last_seen_at`. */
export function userColumn(name: string): string {
  const { table }: Partial<UserField> = (userFields as Record<string, UserField>)[name] ?? {};
  return `${table ?? 'users'}.${name}`;
}

const storedColumns = Object.entries(userFields).map(([name, { type }]) =>
  rawSql(type === 'inet' ? `host(${userColumn(name)}) as ${name}` : userColumn(name)),
);

/** Renders whether the factors of a user were reset, and the user has enrolled none since. */
export const factorsWereReset = rawSql(`(
    users.second_factors = '{}'
    and exists (
      select 1
      from enrollment_codes
      where enrollment_codes.user_id = users.user_id and enrollment_codes.after_reset
    )
  )`);

/** Renders the columns of a `UserRecord`. Needs `users`, `user_logins` and `user_seen`. */
export const userColumns = sql`
  ${joinSql(storedColumns, ',\n  ')},
  coalesce(${onlineSql}, false) as online,
  ${mustEnrollSql} as must_enroll_second_factor`;

/** Joins that `userColumns` needs beside `users`. */
export const userJoins = rawSql(Object.values(activityJoins).join('\n      '));

/**
 * Renders an INSERT or UPDATE of users that returns the `UserRecord`s.
 * New users have no rows of activity before the statement ends.
 * @param write statement without RETURNING
 * @param recorded INSERT of the events, which reads the users from `written`
 */
export function returningUsers(write: SqlFragment, recorded?: SqlFragment): SqlFragment {
  const events =
    recorded === undefined
      ? sql``
      : sql`,
      recorded as (${recorded}
      )`;
  return sql`
      with written as (${write}
        returning users.*
      )${events}
      select ${userColumns}
      from written users
      left ${joinSql(Object.values(activityJoins).map(rawSql), '\n      left ')}`;
}

/** Aliases under which statements read the table `users`. */
type UsersAlias = 'users' | 'other';

/** Renders whether a user is within a scope. @param alias name of the table in the statement */
export function visibleUsers(scope: Scope, alias: UsersAlias = 'users'): SqlFragment {
  return visibleTo(scope, {
    user_id: `${alias}.user_id`,
    user_type: `${alias}.user_type`,
    carrier_id: `${alias}.carrier_id`,
  });
}

/**
 * Impossible timestamps, one per unique index. They make the planner choose exactly that index (ADR
 * 8, `migrations/baseline/users.ts`).
 */
const impossible = {
  name: rawSql(`other.deleted_at > 'infinity'`),
  email: rawSql(`other.deleted_at < '-infinity'`),
};

/** Renders whether a user that is not deleted has a name or address, without regard to case. */
export function isTaken(column: 'name' | 'email', value: SqlFragment): SqlFragment {
  return sql`exists ${ofHolder(column, value, rawSql('1'))}`;
}

/**
 * Renders a value of the user that has a name or address and is not deleted, or null. The value
 * stands in the select list, so that the planner chooses the same index as for `isTaken`.
 * @param value SQL about `other`
 */
export function ofHolder(column: 'name' | 'email', text: SqlFragment, value: SqlFragment): SqlFragment {
  return sql`(
              select ${value}
              from users other
              where (other.deleted_at is null or ${impossible[column]})
                and lower(other.${rawSql(column)}) = lower(${text})
            )`;
}

/** Renders whether a user, a purged user or an API key has an id. No new user may get it (Z24). */
export function isIdTaken(user_id: SqlFragment): SqlFragment {
  return sql`(
    exists (select 1 from users other where other.user_id = ${user_id})
    or exists (select 1 from user_tombstones where user_tombstones.user_id = ${user_id})
    or exists (select 1 from keys where keys.key_id = ${user_id})
  )`;
}

/** Columns of a new user: the columns of files, and those that only `POST /user/create` sets. */
const newColumns = Object.entries<UserField>(userFields)
  .filter(([, { creatable, cell }]) => creatable === true || cell !== undefined)
  .map(([name, { type, table }]) => ({ name, type: type === 'cidr[]' ? 'text[]' : type, table }));
const insertedColumns = newColumns.filter(({ table }) => table === undefined);

/** Renders addresses, a `text[]`, as an array of networks without host bits and duplicates. */
export function networksSql(addresses: SqlFragment): SqlFragment {
  return sql`array(
      select distinct network(address::inet)::cidr
      from unnest(${addresses}) address
      order by 1
    )`;
}

/** Values that the INSERT computes instead of copying the column of the source. */
const computedValues: Record<string, SqlFragment> = {
  allowed_ips: networksSql(rawSql('allowed_ips')),
  created_at: rawSql('coalesce(created_at, now())'),
  password_changed_at: rawSql('coalesce(password_changed_at, case when has_password then now() end)'),
};

/** Renders the columns of `jsonb_to_recordset` that read new users from JSON. */
export const newUserColumns = rawSql(newColumns.map(({ name, type }) => `${name} ${type}`).join(',\n'));

/**
 * Renders the INSERT of new users, to be followed by ON CONFLICT or RETURNING.
 * The unique indexes decide whether names and addresses are free.
 * @param source FROM item, with WHERE and ORDER BY if needed, with these columns:
 *   those of `newUserColumns`: the fields of a user; null for no value, and for the current time
 *   in `created_at`;
 *   `has_password` boolean: whether a password of the user is stored by the same transaction
 * @param created_by user or API key that creates the users
 */
export function insertUsersSql(source: SqlFragment, created_by: string | null): SqlFragment {
  const values = insertedColumns.map(({ name }) => computedValues[name] ?? rawSql(name));
  return sql`
    insert into users (
      ${joinSql(
        insertedColumns.map(({ name }) => rawSql(name)),
        ',\n',
      )},
      created_by
    )
    select
      ${joinSql(values, ',\n')},
      ${created_by}::uuid
    from ${source}`;
}

/**
 * Renders the CTEs that insert the activity of new users. A trigger inserts the rows of all others.
 * @param source FROM item with `user_id` and the columns of `user_logins` and `user_seen`
 */
export function insertActivitySql(source: SqlFragment): SqlFragment {
  return sql`new_logins as (
        insert into user_logins (user_id, last_login_at, last_login_ip)
        select user_id, last_login_at, last_login_ip
        from ${source}
        where num_nonnulls(last_login_at, last_login_ip) > 0
      ),
      new_seen as (
        insert into user_seen (user_id, last_seen_at)
        select user_id, last_seen_at
        from ${source}
        where last_seen_at is not null
      )`;
}

/** What a login persists on the user. */
export interface LoginNote {
  user_id: string;
  ip: string | null;
  /** ends the account lockout that the user shows */
  unlocks: boolean;
}

/**
 * Renders the statement that persists a login of a locked user, and returns the `UserRecord` with
 * `factors_were_reset`.
 * Does not change `version`. Writes `users` only if the user shows an account lockout.
 */
export function noteLoginSql({ user_id, ip, unlocks }: LoginNote): SqlFragment {
  return sql`
    with
    unlocked as (
      update users
      set locked_until = null
      where user_id = ${user_id}::uuid
        and locked_until is not null
        and ${unlocks}::boolean
      returning users.*
    ),
    logged_in as (
      update user_logins
      set last_login_at = now(), last_login_ip = ${ip}::inet
      where user_id = ${user_id}::uuid
      returning user_id, last_login_at, last_login_ip
    ),
    -- Follows from logged_in, because rows of user_logins are locked first.
    seen as (
      update user_seen
      set last_seen_at = greatest(user_seen.last_seen_at, now())
      from logged_in
      where user_seen.user_id = logged_in.user_id
      returning user_seen.user_id, user_seen.last_seen_at
    )
    select
      ${userColumns},
      ${factorsWereReset} as factors_were_reset
    from (
      select * from unlocked
      union all
      select * from users where user_id = ${user_id}::uuid and not exists (select from unlocked)
    ) users
    join logged_in user_logins on user_logins.user_id = users.user_id
    join seen user_seen on user_seen.user_id = users.user_id`;
}

/**
 * Renders the statement that makes a user change the password, and records the event.
 * Does nothing if the user must already change the password.
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
      set must_change_password = true, email_pending = null, updated_at = now(), version = version + 1
      where user_id = ${user_id}::uuid and not must_change_password
      returning user_id, carrier_id, version
    )
    ${recordEventsSql(event, targets)}`;
}

/** Renders the UPDATE that shows the end of an account lockout, or none. Keeps the `version`. */
export function noteLockSql(user_id: string | null, locked_until: Date | null): SqlFragment {
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
    update user_seen
    set last_seen_at = greatest(user_seen.last_seen_at, seen.seen_at)
    from ${seen}
    where user_seen.user_id = seen.user_id`;
}

/** Renders the CTE `locked_seen`, which locks the activity of users. Skips locked rows. */
export function lockSeenSql(user_ids: string[]): SqlFragment {
  return sql`locked_seen as (
        select user_id
        from user_seen
        where user_id = any(${user_ids}::uuid[])
        order by user_id
        for no key update skip locked
      )`;
}
