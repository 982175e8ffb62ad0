import type { ListSpec } from '../common/query/list-query';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import { endedReasons } from './session.entity';

/**
 * SQL that tells a live session. Its user's state is asked for where it matters: ending a user's
 * sessions is part of disabling them.
 */
export const liveSession = rawSql('(sessions.ended_at is null and sessions.expires_at > now())');

/** Ran out without being ended: the time has passed, and nothing else was done. */
const ranOut = rawSql('(sessions.ended_at is null and sessions.expires_at <= now())');

/**
 * The reason that is shown, of which one is not stored. An OR, so that both sides are found by
 * index.
 */
function endedBecause(reasons: readonly unknown[]): SqlFragment {
  const stored = sql`sessions.ended_reason = any(${reasons}::text[])`;
  return reasons.includes('expired') ? sql`${stored} or ${ranOut}` : stored;
}

/**
 * Carriers are few and sessions many: the users of one are found by the trigrams of `user_search`,
 * and never change their carrier.
 */
const ofCarrierLike = (value: string) =>
  sql`user_search.others like '%, %'::text || search_text(${value}) || '%;%'::text`;
const ofUsersFound = (condition: SqlFragment) =>
  sql`sessions.user_id in (select user_search.user_id from user_search where ${condition})`;

/**
 * Times go together: those that few have lie at one end of every order, where a walk from the other
 * end comes last. The planner takes them for spread.
 */
const guessed = true;

/** What sessions can be filtered and sorted by. */
export const sessionList: ListSpec = {
  name: 'sessions',
  filter: {
    fields: {
      session_id: { column: 'sessions.session_id', type: 'uuid', meaning: 'Id of the session' },
      user_id: { column: 'sessions.user_id', type: 'uuid', meaning: 'Whose session' },
      user_type: {
        column: 'sessions.user_type',
        type: 'text',
        values: ['system', 'carrier'],
        // the same by users_carrier_check, and indexed
        equals: (value) =>
          rawSql(value === 'system' ? 'sessions.carrier_id is null' : 'sessions.carrier_id is not null'),
        meaning: 'Kind of user',
      },
      carrier_id: {
        column: 'sessions.carrier_id',
        type: 'text',
        nullable: true,
        like: { condition: ofCarrierLike, reach: ofUsersFound },
        meaning: 'Carrier of the user',
      },
      ip: { column: 'sessions.ip', type: 'address', nullable: true, meaning: 'Address of the login (address or CIDR)' },
      user_agent: { column: 'sessions.user_agent', type: 'text', nullable: true, meaning: 'User agent of the login' },
      active: {
        column: 'sessions.ended_at',
        type: 'boolean',
        guessed,
        equals: (value) => (value === true ? liveSession : sql`not ${liveSession}`),
        meaning: 'Whether it lives',
      },
      ended_reason: {
        column: 'sessions.ended_reason',
        type: 'text',
        nullable: true,
        isnull: liveSession,
        values: endedReasons,
        equals: (value) => endedBecause([value]),
        equalsAny: endedBecause,
        meaning: 'Why it ended',
      },
      created_at: { column: 'sessions.created_at', type: 'time', meaning: 'Time of the login' },
      last_seen_at: { column: 'sessions.last_seen_at', type: 'time', guessed, meaning: 'Last activity, to the minute' },
      expires_at: { column: 'sessions.expires_at', type: 'time', guessed, meaning: 'When it ends if nothing happens' },
    },
  },
  sorts: {
    created_at: { column: 'sessions.created_at', type: 'timestamptz' },
    last_seen_at: { column: 'sessions.last_seen_at', type: 'timestamptz' },
    expires_at: { column: 'sessions.expires_at', type: 'timestamptz' },
  },
  defaultSort: 'created_at',
};
