import { Injectable } from '@nestjs/common';
import type { Scope } from '../../access/scope';
import { visibleTo } from '../../access/scope.sql';
import type { ListQuery } from '../../http/lists/list-query';
import { type Page, readPage } from '../../http/lists/page';
import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';
import { jobsSql } from '../../platform/jobs/jobs.sql';
import { linkState } from '../../auth/passwords/link-state.sql';
import { mailJob } from './mail-job';
import { mailListSql } from './mail-list.sql';
import type { MailResponse } from './mails.dto';

/**
 * State of the link with which a user sets a password. `voided`: the user needs a new password;
 * `none`: the user was never invited.
 */
export type LinkState = 'voided' | 'none' | 'unsent' | 'valid' | 'expired';

const columns = rawSql(`
  mails.mail_id, mails.kind, mails.state, mails.user_id, mails.name, mails.carrier_id, mails.recipient,
  mails.attempts, mails.last_error, mails.failing, mails.created_at, mails.next_attempt_at`);

/** The SQL of unsent mails, and of the data that mails to users contain. */
@Injectable()
export class MailsRepository {
  constructor(private readonly database: Database) {}

  /** Returns a mail to a user within the scope, or null. */
  find(mail_id: string, scope: Scope): Promise<MailResponse | null> {
    return this.database.find<MailResponse>(sql`
      select ${columns}
      from ${mailListSql.from}
      where mails.mail_id = ${mail_id}::uuid and ${visibleMails(scope)}`);
  }

  /** Returns one page of the mails to users within a scope that match a query. */
  list(scope: Scope, query: ListQuery): Promise<Page<MailResponse>> {
    const source = { ...mailListSql, columns, visible: visibleMails(scope) };
    return readPage<MailResponse>(this.database, source, query);
  }

  /** Lists the newest unsent mails to a user. */
  listOf(user_id: string, max: number): Promise<MailResponse[]> {
    return this.database.run<MailResponse>(sql`
      select ${columns}
      from ${mailListSql.from}
      where mails.user_id = ${user_id}::uuid
      order by mails.created_at desc, mails.mail_id desc
      limit ${max}::integer`);
  }

  /** Counts the mails to all users by state. */
  async countByState(): Promise<{ state: MailResponse['state']; count: number }[]> {
    return this.database.run(sql`
      select case jobs.state when 'running' then 'sending' else jobs.state end as state, count(*)::integer as count
      from ${jobsSql(mailJob)}
      group by 1`);
  }

  /** Lists the links of invited users, and the active users with a voided password. */
  listLinks(user_ids: string[]): Promise<{ user_id: string; email: string; state: LinkState }[]> {
    return this.database.run(sql`
      select
        users.user_id,
        users.email,
        case
          when users.status = 'active' then 'voided'
          else ${linkState}
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

  /** Lists the newest 100 suspended API keys that a user created or was the last to rotate. */
  listSuspendedKeys(user_id: string): Promise<{ key_id: string; name: string }[]> {
    return this.database.run(sql`
      select key_id, name
      from keys
      where ${user_id}::uuid in (created_by, rotated_by) and suspended_at is not null and revoked_at is null
      order by suspended_at desc, key_id desc
      limit 100`);
  }
}

function visibleMails(scope: Scope): SqlFragment {
  return visibleTo(scope, { user_id: 'mails.user_id', user_type: 'mails.user_type', carrier_id: 'mails.carrier_id' });
}
