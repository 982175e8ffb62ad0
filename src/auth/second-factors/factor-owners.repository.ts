import { Injectable } from '@nestjs/common';
import { sql } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';
import type { EventBase } from '../../audit/event-base';
import { recordEventsSql } from '../../audit/events.sql';
import { requiresSecondFactor } from '../../users/user-list.sql';
import { liveSession } from '../sessions/session-list.sql';

/** The user whose factors change. */
export interface FactorOwner {
  user_id: string;
  /** login name */
  name: string;
  carrier_id: string | null;
  /** kinds of the confirmed factors, one item per factor */
  second_factors: string[];
  /** whether the user must have a second factor now */
  requires_factor: boolean;
}

/** The event of a user whose factors were reset. */
export interface FactorReset {
  user_id: string;
  changes: { kinds: { before: string[]; after: string[] } };
}

/** The SQL of users whose factors change. */
@Injectable()
export class FactorOwnersRepository {
  constructor(private readonly database: Database) {}

  /**
   * Locks a user. Returns null if the session is not live: it may have ended while the request
   * waited for the lock, for example by a password reset.
   */
  async lock(user_id: string, session_id: string | null): Promise<FactorOwner | null> {
    await this.database.run(sql`
      select 1
      from users
      where user_id = ${user_id}::uuid
      for no key update`);
    // A separate statement: the statement that waits for a lock does not see later changes.
    const [owner] = await this.database.run<FactorOwner>(sql`
      select
        users.user_id, users.name, users.carrier_id, users.second_factors,
        ${requiresSecondFactor} as requires_factor
      from users
      join sessions on sessions.user_id = users.user_id
      where users.user_id = ${user_id}::uuid
        and users.deleted_at is null
        and sessions.session_id = ${session_id}::uuid
        and ${liveSession}`);
    return owner ?? null;
  }

  /** Records the events of users whose factors were reset. */
  async recordResets(event: EventBase, resets: FactorReset[]): Promise<void> {
    const targets = sql`(
        select users.user_id as id, users.carrier_id, reset.changes, null::integer as version
        from jsonb_to_recordset(${JSON.stringify(resets)}::jsonb) as reset (user_id uuid, changes jsonb)
        join users on users.user_id = reset.user_id
      ) target`;
    await this.database.run(recordEventsSql(event, targets));
  }
}
