import { sql, type SqlFragment } from '../common/query/sql';
import { liveSession } from './session-list.sql';

/**
 * Renders the UPDATE that persists the last activity of sessions, and postpones their expiry up to
 * `absolute_expires_at`. Never revives an expired session. Returns `user_id` and `seen_at`.
 * @param used FROM item with the alias `used` and these columns:
 *   `session_id` uuid and `user_id` uuid: the session and its user;
 *   `seen_at` timestamptz: time of the activity
 */
export function noteActivitySql(used: SqlFragment, idle_seconds: Record<'system' | 'carrier', number>): SqlFragment {
  return sql`
    update sessions
    set
      last_seen_at = greatest(sessions.last_seen_at, used.seen_at),
      expires_at = greatest(sessions.expires_at, least(
        sessions.absolute_expires_at,
        used.seen_at + interval '1 second' * case sessions.user_type
          when 'system' then ${idle_seconds.system}::integer
          else ${idle_seconds.carrier}::integer
        end
      ))
    from ${used}
    where sessions.session_id = used.session_id and sessions.user_id = used.user_id and ${liveSession}
    returning sessions.user_id, used.seen_at`;
}
