import { Injectable } from '@nestjs/common';
import { sql, type SqlFragment } from '../../../http/lists/sql';
import { Database } from '../../../platform/database/database';
import { requiresSecondFactor } from '../../../users/user-list.sql';
import { factorsWereReset } from '../../../users/users.sql';

/** The SQL of the codes to enrol the first factor. */
@Injectable()
export class EnrollmentCodesRepository {
  constructor(private readonly database: Database) {}

  /**
   * Records that a user without a factor logged in and needs a code. Returns false if the last
   * request is less than 5 minutes ago, or if the user followed a link within the last hour.
   */
  async request(user_id: string): Promise<boolean> {
    const rows = await this.database.runPrepared(sql`
      insert into enrollment_codes (user_id, requested_at)
      select ${user_id}::uuid, now()
      where not ${followedLink(sql`${user_id}::uuid`)}
      on conflict (user_id) do update set requested_at = excluded.requested_at
      where enrollment_codes.requested_at <= now() - interval '5 minutes'
      returning 1`);
    return rows.length > 0;
  }

  /** Makes users whose factors were reset need a code. Their next login requests the mail. */
  async demand(user_ids: string[]): Promise<void> {
    await this.database.run(sql`
      insert into enrollment_codes (user_id, requested_at, after_reset)
      select user_id, '1970-01-01T00:00:00Z', true
      from unnest(${user_ids}::uuid[]) user_id
      on conflict (user_id) do update set after_reset = true`);
  }

  /**
   * Returns whether a user needs a code to enrol a factor. Only the first factor needs a code, of a
   * user who must have a factor or whose factors were reset. A link that the user followed within
   * the last hour replaces the code.
   */
  async isNeeded(user_id: string): Promise<boolean> {
    const rows = await this.database.run(sql`
      select 1
      from users
      where users.user_id = ${user_id}::uuid
        and users.second_factors = '{}'
        and (${requiresSecondFactor} or ${factorsWereReset})
        and not ${followedLink(sql`users.user_id`)}`);
    return rows.length > 0;
  }

  /**
   * Returns whether a code is right, and counts a wrong one. Concurrent guesses wait for each other
   * at the row, so that no more than `wrong_max` wrong codes are compared.
   */
  async accept(user_id: string, code_hash: Buffer, wrong_max: number): Promise<boolean> {
    const [row] = await this.database.runPrepared<{ is_right: boolean }>(sql`
      update enrollment_codes
      set wrong_codes = wrong_codes + case when code_hash = ${code_hash}::bytea then 0 else 1 end
      where user_id = ${user_id}::uuid
        and code_hash is not null
        and expires_at > now()
        and wrong_codes < ${wrong_max}::integer
      returning code_hash = ${code_hash}::bytea as is_right`);
    return row?.is_right ?? false;
  }

  async delete(user_id: string): Promise<void> {
    await this.database.run(sql`
      delete from enrollment_codes
      where user_id = ${user_id}::uuid`);
  }

  async voidAll(): Promise<void> {
    await this.database.run(sql`
      update enrollment_codes
      set code_hash = null
      where expires_at > now()`);
  }

  /** Stores the code of a user who requested one. Returns false if none was requested. */
  async put(user_id: string, code_hash: Buffer, ttl_seconds: number): Promise<boolean> {
    const rows = await this.database.runPrepared(sql`
      update enrollment_codes
      set code_hash = ${code_hash}::bytea,
        expires_at = now() + ${ttl_seconds}::integer * interval '1 second',
        wrong_codes = 0
      where user_id = ${user_id}::uuid
      returning 1`);
    return rows.length > 0;
  }
}

/**
 * Renders whether a user set a password with a mailed link, or with a link shown at the terminal,
 * within the last hour.
 */
function followedLink(user_id: SqlFragment): SqlFragment {
  return sql`exists (
          select 1
          from one_time_tokens
          where one_time_tokens.user_id = ${user_id}
            and one_time_tokens.purpose <> 'email'
            and one_time_tokens.used_at > now() - interval '1 hour'
        )`;
}
