import { sql, type SqlFragment } from '../../http/lists/sql';

/**
 * Renders whether a user set a password with a mailed link, or with a link shown at the terminal,
 * within the last hour.
 * @param user_id SQL of the id
 */
export function followedLinkSql(user_id: SqlFragment): SqlFragment {
  return sql`exists (
          select 1
          from one_time_tokens
          where one_time_tokens.user_id = ${user_id}
            and one_time_tokens.purpose <> 'email'
            and one_time_tokens.used_at > now() - interval '1 hour'
        )`;
}
