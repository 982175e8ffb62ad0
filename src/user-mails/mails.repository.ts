import { Injectable } from '@nestjs/common';
import { type Actor, identityOf } from '../access/actor';
import type { Scope } from '../access/scope';
import { visibleTo } from '../access/scope.sql';
import { CursorCodec } from '../common/query/cursor';
import type { RawQuery } from '../common/query/filter';
import { parseListQuery } from '../common/query/list-query';
import { type Page, readPage } from '../common/query/page';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import { Database } from '../database/database';
import { jobsSql } from '../jobs/jobs.sql';
import { mailJob } from './mail-job';
import { mailList } from './mail-list';
import { mailListSql } from './mail-list.sql';
import type { MailResponse } from './mails.dto';

const columns = rawSql(`
  mails.mail_id, mails.kind, mails.state, mails.user_id, mails.name, mails.carrier_id, mails.recipient,
  mails.attempts, mails.last_error, mails.created_at, mails.next_attempt_at`);

/** The SQL of mails that are not sent yet. */
@Injectable()
export class MailsRepository {
  constructor(
    private readonly database: Database,
    private readonly cursors: CursorCodec,
  ) {}

  /** Returns a mail to a user within the scope, or null. */
  async find(mail_id: string, scope: Scope): Promise<MailResponse | null> {
    const [row] = await this.database.run<MailResponse>(sql`
      select ${columns}
      from ${mailListSql.from}
      where mails.mail_id = ${mail_id}::uuid and ${visibleMails(scope)}`);
    return row ?? null;
  }

  /** Returns one page of the mails to users within the reader's scope that match the query. */
  async list(reader: Actor, query: RawQuery): Promise<Page<MailResponse>> {
    const parsed = parseListQuery(query, mailList, identityOf(reader), this.cursors);
    const source = { ...mailListSql, columns, visible: visibleMails(reader) };
    return readPage<MailResponse>(this.database, source, parsed, this.cursors);
  }

  /** Counts the mails to all users by state. */
  async countByState(): Promise<{ state: MailResponse['state']; count: number }[]> {
    return this.database.run(sql`
      select case jobs.state when 'running' then 'sending' else jobs.state end as state, count(*)::integer as count
      from ${jobsSql(mailJob)}
      group by 1`);
  }
}

function visibleMails(scope: Scope): SqlFragment {
  return visibleTo(scope, { user_id: 'mails.user_id', user_type: 'mails.user_type', carrier_id: 'mails.carrier_id' });
}
