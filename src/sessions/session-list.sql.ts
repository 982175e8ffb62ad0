import { isOwn, visibleTo } from '../access/scope.sql';
import type { FilterSql } from '../common/query/filter.sql';
import type { ListSql } from '../common/query/page';
import { joinSql, rawSql, sql, type SqlFragment } from '../common/query/sql';
import { sessionList, type SessionReach } from './session-list';

/**
 * Renders whether a session is live. The state of its user is not part of it: disabling or deleting
 * a user also ends the sessions.
 */
export const liveSession = rawSql('(sessions.ended_at is null and sessions.expires_at > now())');

/** Renders when the user of a session authenticated. */
export const authTime = rawSql('coalesce(sessions.auth_time, sessions.created_at)');

/** Renders whether a session expired without being ended. */
const expiredSession = rawSql('(sessions.ended_at is null and sessions.expires_at <= now())');

const scopeColumns = {
  user_id: 'session_search.user_id',
  user_type: 'sessions.user_type',
  carrier_id: 'session_search.carrier_id',
};

/** Both tables have an index of the user: one by time of login, the other one by end. */
const userColumns = ['session_search.user_id', 'sessions.user_id'];

/** Renders whether a session is within the reach of an actor, and its user is not deleted. */
export function reachableSession({ scope, others }: SessionReach): SqlFragment {
  const own = () =>
    joinSql(
      userColumns.map((column) => isOwn(scope, column)),
      ' and ',
    );
  return sql`${others ? visibleTo(scope, scopeColumns) : own()} and users.deleted_at is null`;
}

/**
 * Renders whether a session ended for one of these reasons. `expired` is not stored, so the
 * condition is an OR; an index serves each side.
 */
function endedBecause(reasons: readonly unknown[]): SqlFragment {
  const stored = sql`sessions.ended_reason = any(${reasons}::text[])`;
  return reasons.includes('expired') ? sql`${stored} or ${expiredSession}` : stored;
}

/**
 * Renders the filters of sessions. `session_search` indexes the columns that activity does not
 * change.
 */
export const sessionFilterSql: FilterSql = {
  spec: sessionList.filter,
  table: 'session_search',
  fields: {
    session_id: { column: 'sessions.session_id' },
    user_id: {
      equals: (value) =>
        joinSql(
          userColumns.map((column) => sql`${rawSql(column)} = ${value}::uuid`),
          ' and ',
        ),
      // One array for each column: an OR of 500 ids took 90 MiB of a connection to plan (D31).
      equalsAny: (values) =>
        joinSql(
          userColumns.map((column) => sql`${rawSql(column)} = any(${values}::uuid[])`),
          ' and ',
        ),
    },
    // Equivalent by the constraint users_carrier_check, and indexed.
    user_type: {
      equals: (value) => rawSql(`session_search.carrier_id is ${value === 'system' ? '' : 'not '}null`),
    },
    // Few carriers have many sessions: the trigrams of `user_search` find the users of a carrier.
    carrier_id: {
      like: {
        condition: (value) => sql`user_search.others like '%, %'::text || search_text(${value}) || '%;%'::text`,
        reach: (condition) => sql`session_search.user_id in (
          select user_search.user_id from user_search where ${condition})`,
      },
    },
    active: { guessed: true, equals: (value) => (value === true ? liveSession : sql`not ${liveSession}`) },
    mfa: { equals: (value) => rawSql(`${value === true ? '' : 'not '}session_search.mfa`) },
    ended_reason: {
      column: 'sessions.ended_reason',
      isnull: liveSession,
      equals: (value) => endedBecause([value]),
      equalsAny: endedBecause,
    },
    // Sessions with rare times are adjacent in the other sort orders too, not evenly spread as the
    // planner expects.
    last_seen_at: { column: 'sessions.last_seen_at', guessed: true },
    expires_at: { column: 'sessions.expires_at', guessed: true },
  },
};

/** Renders session lists. */
export const sessionListSql: ListSql = {
  list: sessionList,
  filter: sessionFilterSql,
  from: rawSql(`sessions
      join session_search on session_search.session_id = sessions.session_id
      join users on users.user_id = sessions.user_id`),
  id: 'sessions.session_id',
  sorts: {
    created_at: { column: 'session_search.created_at', id: 'session_search.session_id' },
    last_seen_at: { column: 'sessions.last_seen_at' },
    expires_at: { column: 'sessions.expires_at' },
  },
  joined: ['users', 'session_search'],
};
