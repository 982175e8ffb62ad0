import { rawSql } from '../../http/lists/sql';

/**
 * Renders the state of the mailed link of a row `link` of `one_time_tokens`: `none` if it was never
 * requested, `unsent` until its mail is sent, then `valid` or `expired`.
 */
export const linkState = rawSql(`case
            when link.user_id is null then 'none'
            when link.expires_at is null then 'unsent'
            when link.expires_at > now() then 'valid'
            else 'expired'
          end`);
