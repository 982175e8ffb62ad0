import type { Scope } from '../access/scope';
import { visibleTo } from '../access/scope.sql';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';

/** Names under which statements of this code base read the table `users`. */
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
 * 8, migration `KeepNamesFindable`).
 */
const impossible = {
  name: rawSql(`other.deleted_at > 'infinity'`),
  email: rawSql(`other.deleted_at < '-infinity'`),
};

/** Renders whether a user that is not deleted has a name or address, without regard to case. */
export function isTaken(column: 'name' | 'email', value: SqlFragment): SqlFragment {
  return sql`exists (
              select 1
              from users other
              where (other.deleted_at is null or ${impossible[column]})
                and lower(other.${rawSql(column)}) = lower(${value})
            )`;
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
