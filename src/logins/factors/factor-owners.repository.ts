import { Injectable } from '@nestjs/common';
import { sql } from '../../common/query/sql';
import { followedLinkSql } from '../../credentials/followed-links.sql';
import { Database } from '../../database/database';
import type { EventBase } from '../../events/events.service';
import { recordEventsSql } from '../../events/events.sql';
import { requiresSecondFactor } from '../../users/user-list.sql';
import { factorsWereReset } from '../../users/users.sql';

/** The user of a change of factors. */
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

/** The SQL of the users of a change of factors. */
@Injectable()
export class FactorOwnersRepository {
  constructor(private readonly database: Database) {}

  /** Locks a user who is not deleted. Returns false if there is none. */
  async lock(user_id: string): Promise<boolean> {
    const rows = await this.database.run(sql`
      select 1
      from users
      where user_id = ${user_id}::uuid and deleted_at is null
      for no key update`);
    return rows.length > 0;
  }

  /** Returns a user if the session is live, otherwise null. Lock the user first. */
  async findOwner(user_id: string, session_id: string | null): Promise<FactorOwner | null> {
    const [row] = await this.database.run<FactorOwner>(sql`
      select
        users.user_id, users.name, users.carrier_id, users.second_factors,
        ${requiresSecondFactor} as requires_factor
      from users
      join sessions on sessions.user_id = users.user_id
      where users.user_id = ${user_id}::uuid
        and sessions.session_id = ${session_id}::uuid
        and sessions.ended_at is null
        and sessions.expires_at > now()`);
    return row ?? null;
  }

  /**
   * Returns whether a user needs a mailed code to enrol a factor: the first factor of a user who
   * must have one now, or whose factors were reset.
   */
  async needsMailCode(user_id: string): Promise<boolean> {
    const rows = await this.database.run(sql`
      select 1
      from users
      where users.user_id = ${user_id}::uuid
        and users.second_factors = '{}'
        and (
          ${requiresSecondFactor}
          or ${factorsWereReset}
        )
        and not ${followedLinkSql(sql`users.user_id`)}`);
    return rows.length > 0;
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
