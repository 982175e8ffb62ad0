import type { ListSql } from '../../http/lists/page';
import { sql } from '../../http/lists/sql';
import { jobsSql } from '../../platform/jobs/jobs.sql';
import { mailList } from './mail-list';
import { rejectedForGood } from '../../platform/mail/mail-error';
import { mailJob } from './mail-job';

/** Renders the mails that are not sent yet. Omits mails to deleted users, which are never sent. */
const mailsSql = sql`(
    select
      jobs.job_id as mail_id,
      jobs.payload ->> 'mail' as kind,
      case jobs.state when 'running' then 'sending' else jobs.state end as state,
      users.user_id,
      users.user_type,
      users.name,
      users.carrier_id,
      coalesce(
        jobs.payload ->> 'email',
        case when jobs.payload ->> 'mail' = 'email-confirmation' then users.email_pending end,
        users.email
      ) as recipient,
      jobs.attempts,
      jobs.last_error,
      jobs.attempts - (jobs.state = 'running')::integer >= 2
        or coalesce(jobs.last_error ~ ${rejectedForGood}, false) as failing,
      jobs.created_at,
      jobs.next_attempt_at
    from ${jobsSql(mailJob)}
    join users on users.user_id = (jobs.payload ->> 'user_id')::uuid and users.deleted_at is null
  ) mails`;

/** Renders mail lists. */
export const mailListSql: ListSql = {
  list: mailList,
  filter: { spec: mailList.filter, table: 'mails' },
  from: mailsSql,
  id: 'mails.mail_id',
};
