import { sql, type SqlFragment } from '../common/query/sql';
import type { TokenPurpose } from './one-time-token.entity';

/**
 * Renders the INSERT that records the first request of a link for users. The mail jobs mint the
 * tokens.
 * @param source FROM item with this column:
 *   `user_id` uuid: a user without a request for this purpose
 */
export function requestTokensSql(source: SqlFragment, purpose: TokenPurpose): SqlFragment {
  return sql`
        insert into one_time_tokens (user_id, purpose, requested_at)
        select user_id, ${purpose}, now()
        from ${source}`;
}
