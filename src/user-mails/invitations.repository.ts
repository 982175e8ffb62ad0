import { Injectable } from '@nestjs/common';
import { sql } from '../common/query/sql';
import { Database } from '../database/database';

/**
 * State of the link with which a user sets a password. `voided`: the user needs a new password;
 * `none`: the user was never invited.
 */
export type LinkState = 'voided' | 'none' | 'unsent' | 'valid' | 'expired';

/** SQL of the links with which users set passwords. */
@Injectable()
export class InvitationsRepository {
  constructor(private readonly database: Database) {}

  /** Lists the links of invited users, and the active users with a voided password. */
  listLinks(user_ids: string[]): Promise<{ user_id: string; email: string; state: LinkState }[]> {
    return this.database.run(sql`
      select
        users.user_id,
        users.email,
        case
          when users.status = 'active' then 'voided'
          when link.user_id is null then 'none'
          when link.expires_at is null then 'unsent'
          when link.expires_at > now() then 'valid'
          else 'expired'
        end as state
      from users
      left join credentials on credentials.user_id = users.user_id
      left join one_time_tokens link on link.user_id = users.user_id and link.purpose = 'invite'
      where users.user_id = any(${user_ids}::uuid[])
        and users.deleted_at is null
        and case users.status
          when 'active' then credentials.user_id is not null and credentials.password_hash is null
          else users.status = 'invited'
        end
      order by users.user_id`);
  }

  /** Lists the newest 100 suspended API keys that a user created. */
  listSuspendedKeys(user_id: string): Promise<{ key_id: string; name: string }[]> {
    return this.database.run(sql`
      select key_id, name
      from keys
      where created_by = ${user_id}::uuid and suspended_at is not null and revoked_at is null
      order by suspended_at desc, key_id desc
      limit 100`);
  }
}
