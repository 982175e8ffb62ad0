import type { FieldSql, FilterSql, Reach, SqlPiece } from '../http/lists/filter.sql';
import type { ListSql } from '../http/lists/page';
import { joinSql, rawSql, sql, type SqlFragment } from '../http/lists/sql';
import { liveSession } from '../auth/sessions/session-list.sql';
import { searchedFields } from './user-fields';
import { userFilter, userList } from './user-list';

/**
 * `user_search` holds the searched columns that bulk changes leave alone (ADR 7). The planner turns
 * the subquery into a join.
 */
const inSearch: Reach = (condition) =>
  sql`users.user_id in (select user_search.user_id from user_search where ${condition})`;

/** `user_logins` and `user_seen` hold the columns that activity writes (ADR 12). */
const inLogins: Reach = (condition) =>
  sql`users.user_id in (select user_logins.user_id from user_logins where ${condition})`;
const inSeen: Reach = (condition) => sql`users.user_id in (select user_seen.user_id from user_seen where ${condition})`;

/** Joins of `users` with the tables of its activity. Each user has one row in both. */
export const activityJoins = {
  user_logins: 'join user_logins on user_logins.user_id = users.user_id',
  user_seen: 'join user_seen on user_seen.user_id = users.user_id',
};

/** Finds users by trigrams. `names` and `others` contain several columns in one text each. */
const inTexts = (column: 'names' | 'others') => ({
  likeCandidates: (value: string): SqlPiece => ({
    condition: sql`user_search.${rawSql(column)} like '%' || search_text(${value}) || '%'`,
    reach: inSearch,
  }),
});

// The roles are read once per statement.
const roleRequiresSecondFactor =
  'users.roles && array(select roles.name from roles where roles.second_factor_required_from <= now())';

/** Renders whether a user must have a second factor now. */
export const requiresSecondFactor = rawSql(`(
    coalesce(users.second_factor_required_from <= now(), false)
    or ${roleRequiresSecondFactor}
  )`);

/** Renders whether a second factor is required and missing. */
export const mustEnrollSql = sql`(users.second_factors = '{}' and ${requiresSecondFactor})`;

/** `mustEnrollSql` in a form for which the planner can use indexes. */
const mustEnrollIndexedSql = rawSql(`(
    users.second_factors = '{}'
    and (
      users.second_factor_required_from <= now()
      or ${roleRequiresSecondFactor}
    )
  )`);

/**
 * Renders whether a user was seen within 5 minutes, in a session that is still live. Needs
 * `user_seen`, whose index finds the users. The difference of times keeps the planner from reading
 * the recent sessions of all users for one user.
 */
export const onlineSql = sql`(
    user_seen.last_seen_at > now() - interval '5 minutes'
    and exists (
      select
      from sessions
      where sessions.user_id = user_seen.user_id
        and ${liveSession}
        and now() - sessions.last_seen_at < interval '5 minutes'
    )
  )`;

/** Fields that are not plain columns of `users`. */
const fields: Record<string, FieldSql> = {
  // Equivalent by the constraint users_carrier_check, and indexed.
  user_type: {
    equals: (value) => rawSql(value === 'system' ? 'users.carrier_id is null' : 'users.carrier_id is not null'),
  },
  name: inTexts('names'),
  email: inTexts('names'),
  ...searchedFields((name, { searched }) => ({
    column: `user_search.${name}`,
    reach: inSearch,
    ...inTexts(searched),
  })),
  carrier_id: inTexts('others'),
  role: {
    equals: (value) => sql`users.roles @> array[${value}::text]`,
    equalsAny: (values) => sql`users.roles && ${values}::text[]`,
  },
  last_login_at: { column: 'user_logins.last_login_at', reach: inLogins },
  last_login_ip: { column: 'user_logins.last_login_ip', reach: inLogins },
  last_seen_at: { column: 'user_seen.last_seen_at', reach: inSeen },
  // The first form is the predicate of the index.
  has_second_factor: {
    column: 'users.second_factors',
    equals: (value) => rawSql(`users.second_factors ${value === true ? '<>' : '='} '{}'`),
  },
  must_enroll_second_factor: {
    equals: (value) => (value === true ? mustEnrollIndexedSql : sql`not ${mustEnrollSql}`),
  },
  online: {
    column: 'user_seen.last_seen_at',
    reach: inSeen,
    equals: (value) => (value === true ? onlineSql : sql`${onlineSql} is not true`),
  },
};

/** Renders the filters of users. */
export const userFilterSql: FilterSql = {
  spec: userFilter,
  table: 'users',
  fields,
  specials: { q: (text) => ({ condition: searchSql(text), reach: inSearch }) },
};

/** Renders user lists. */
export const userListSql: ListSql = {
  list: userList,
  filter: userFilterSql,
  from: rawSql('users'),
  columnJoins: Object.values(activityJoins),
  id: 'users.user_id',
  sorts: {
    name: { column: 'lower(users.name)' },
    email: { column: 'lower(users.email)' },
    last_name: {
      column: 'lower(user_search.last_name)',
      id: 'user_search.user_id',
      join: { sql: 'join user_search on user_search.user_id = users.user_id', reach: inSearch },
    },
    last_login_at: {
      column: 'user_logins.last_login_at',
      id: 'user_logins.user_id',
      join: { sql: activityJoins.user_logins, reach: inLogins },
    },
    last_seen_at: {
      column: 'user_seen.last_seen_at',
      id: 'user_seen.user_id',
      join: { sql: activityJoins.user_seen, reach: inSeen },
    },
  },
};

/**
 * Renders the search for words. Words of 1 or 2 characters match only the beginnings of words:
 * `names` has a space before each word.
 */
function searchSql(text: string): SqlFragment {
  const words = text.trim().split(/\s+/);
  const conditions = words.map((word) => {
    const start = [...word].length < 3 ? '% ' : '%';
    return sql`user_search.names like ${start}::text || search_text(${word}) || '%'`;
  });
  return joinSql(conditions, ' and ');
}
