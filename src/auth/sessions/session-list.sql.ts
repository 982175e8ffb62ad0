import { isOwn, visibleTo } from '../../access/scope.sql';
import type { FieldSql, FilterSql, Reach } from '../../http/lists/filter.sql';
import type { ListSql } from '../../http/lists/page';
import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
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

/** Renders a condition on the user for both tables, which have different indexes of the user. */
function onUser(render: (column: string) => SqlFragment): SqlFragment {
  return sql`${render('session_search.user_id')} and ${render('sessions.user_id')}`;
}

/** Renders whether a session is within the reach of an actor, and its user is not deleted. */
export function reachableSession({ scope, others }: SessionReach): SqlFragment {
  const reachable = others ? visibleTo(scope, scopeColumns) : onUser((column) => isOwn(scope, column));
  return sql`${reachable} and users.deleted_at is null`;
}

/**
 * Renders whether a session ended for one of these reasons. `expired` is not stored, so the
 * condition is an OR; an index serves each side.
 */
function endedBecause(reasons: readonly unknown[]): SqlFragment {
  const stored = sql`sessions.ended_reason = any(${reasons}::text[])`;
  return reasons.includes('expired') ? sql`${stored} or ${expiredSession}` : stored;
}

/** Finds the matching users first, because few of them have many sessions. */
const inUserSearch: Reach = (condition) => sql`session_search.user_id in (
          select user_search.user_id from user_search where ${condition})`;

/** Finds the users of sessions by trigrams. */
const ofUsers = (texts: 'names' | 'others'): FieldSql => ({
  likeCandidates: (value) => ({
    condition: sql`user_search.${rawSql(texts)} like '%' || search_text(${value}) || '%'`,
    reach: inUserSearch,
  }),
});

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
      equals: (value) => onUser((column) => sql`${rawSql(column)} = ${value}::uuid`),
      // One array for each column: an OR of 500 ids took 90 MiB of a connection to plan (D31).
      equalsAny: (values) => onUser((column) => sql`${rawSql(column)} = any(${values}::uuid[])`),
    },
    // Equivalent by the constraint users_carrier_check, and indexed.
    user_type: {
      equals: (value) => rawSql(`session_search.carrier_id is ${value === 'system' ? '' : 'not '}null`),
    },
    name: { column: 'users.name', ...ofUsers('names') },
    email: { column: 'users.email', ...ofUsers('names') },
    carrier_id: ofUsers('others'),
    active: { equals: (value) => (value === true ? liveSession : sql`not ${liveSession}`) },
    mfa: { equals: (value) => rawSql(`${value === true ? '' : 'not '}session_search.mfa`) },
    ended_reason: {
      column: 'sessions.ended_reason',
      isnull: liveSession,
      equals: (value) => endedBecause([value]),
      equalsAny: endedBecause,
    },
    last_seen_at: { column: 'sessions.last_seen_at' },
    expires_at: { column: 'sessions.expires_at' },
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
};
