import { Injectable } from '@nestjs/common';
import { sql } from '../common/query/sql';
import { requestTokensSql } from '../credentials/requested-tokens.sql';
import { Database } from '../database/database';
import { addJobsSql } from '../jobs/jobs.sql';
import type { RateLimit } from '../rate-limits/rate-limits.service';
import { takeHitsSql } from '../rate-limits/rate-limits.sql';
import { mailJob, type MailJob } from './mail-job';

/** The invitation of a new user. */
export interface Invitation {
  user_id: string;
  /** counter of the address */
  limit_key: Buffer;
  job: MailJob;
  job_key: string;
}

/** SQL of the invitations of new users. */
@Injectable()
export class InvitationsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Counts the invitations of new users, requests their links and enqueues their mails, in one
   * statement. Other mails have priority, so that an import delays no reset. Skips addresses that
   * have reached the limit.
   * @returns the ids of the invited users
   */
  async add(invitations: Invitation[], { max, window_seconds }: RateLimit): Promise<string[]> {
    const user_ids = invitations.map(({ user_id }) => user_id);
    const keys = invitations.map(({ limit_key }) => limit_key);
    const jobs = invitations.map(({ job }) => JSON.stringify(job));
    const job_keys = invitations.map(({ job_key }) => job_key);
    const rows = await this.database.runPrepared<{ user_id: string }>(sql`
      with taken as (
        ${takeHitsSql(sql`${keys}`, max, window_seconds)}
      ),
      invited as (
        select invitation.*
        from unnest(${user_ids}::uuid[], ${keys}::bytea[], ${jobs}::json[], ${job_keys}::text[])
          as invitation (user_id, limit_key, payload, key)
        join taken on taken.key = invitation.limit_key
      ),
      requested as (
        ${requestTokensSql(sql`invited`, 'invite')}
      ),
      enqueued as (
        select count(*) as jobs
        from ${addJobsSql(mailJob, sql`(select payload, key, null::timestamptz as run_at from invited) job`, 1)}
      )
      select user_id
      from invited
      cross join enqueued`);
    return rows.map(({ user_id }) => user_id);
  }
}
