import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import { liveSession } from './session-list.sql';

/** Activity is noted at most once a minute, and well before the session would expire. */
export const noteAfter = rawSql(`least(interval '1 minute', (sessions.expires_at - sessions.last_seen_at) / 4)`);

/**
 * Renders the CTEs that persist the last activity of sessions, and postpone their expiry up to
 * `absolute_expires_at`. Never revives an expired session. The last CTE, `noted`, has the columns
 * `user_id` and `seen_at`.
 * Skips locked sessions, and sessions that were noted less than half an interval before, because
 * several instances may note the same session.
 * @param used FROM item with the alias `used` and these columns:
 *   `session_id` uuid and `user_id` uuid: the session and its user;
 *   `seen_at` timestamptz: time of the activity
 */
export function noteActivitySql(
  used: SqlFragment,
  session_ids: string[],
  idle_seconds: Record<'system' | 'carrier', number>,
): SqlFragment {
  return sql`due as (
        select sessions.session_id, used.seen_at
        from sessions
        join ${used} on used.session_id = sessions.session_id and used.user_id = sessions.user_id
        where sessions.session_id = any(${session_ids}::uuid[])
          and ${liveSession}
          and sessions.last_seen_at + ${noteAfter} / 2 < used.seen_at
        order by sessions.session_id
        for no key update of sessions skip locked
      ),
      noted as (
        update sessions
        set
          last_seen_at = due.seen_at,
          expires_at = greatest(sessions.expires_at, least(
            sessions.absolute_expires_at,
            due.seen_at + interval '1 second' * case sessions.user_type
              when 'system' then ${idle_seconds.system}::integer
              else ${idle_seconds.carrier}::integer
            end
          ))
        from due
        where sessions.session_id = due.session_id
        returning sessions.user_id, due.seen_at
      )`;
}
