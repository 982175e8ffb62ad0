import { Injectable } from '@nestjs/common';
import { sql } from '../common/query/sql';
import { Database } from '../database/database';

/** A right password whose second step did not follow in time. */
export interface ExpiredChallenge {
  user_id: string;
  ip: string | null;
  user_agent: string | null;
  /** when the password was entered */
  created_at: Date;
  /** whether the user has completed another login from the same address since then */
  logged_in: boolean;
}

/** The SQL of challenges that expired before they were used. */
@Injectable()
export class ExpiredChallengesRepository {
  constructor(private readonly database: Database) {}

  /**
   * Deletes and returns up to `limit` expired challenges, the oldest first. Skips challenges that
   * another transaction holds. A challenge with too many rejected proofs expires like any other.
   */
  async take(limit: number): Promise<ExpiredChallenge[]> {
    return this.database.run<ExpiredChallenge>(sql`
      with expired as (
        delete from login_challenges
        where challenge_hash = any(array(
          select challenge_hash
          from login_challenges
          where expires_at <= now()
          order by expires_at
          limit ${limit}::integer
          for update skip locked
        ))
        returning user_id, ip, user_agent, created_at
      )
      select
        expired.user_id,
        host(expired.ip) as ip,
        expired.user_agent,
        expired.created_at,
        coalesce(
          user_logins.last_login_at >= expired.created_at and user_logins.last_login_ip = expired.ip,
          false
        ) as logged_in
      from expired
      left join user_logins on user_logins.user_id = expired.user_id
      order by expired.created_at`);
  }
}
