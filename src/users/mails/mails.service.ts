import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Actor } from '../../access/actor';
import { AppError } from '../../http/errors/app-error';
import type { ListQuery } from '../../http/lists/list-query';
import type { Page } from '../../http/lists/page';
import { EventsService } from '../../audit/events.service';
import { MetricsService } from '../../platform/metrics/metrics.service';
import { JobsService } from '../../platform/jobs/jobs.service';
import type { MailName } from '../../platform/mail/mail-name';
import { CredentialsService } from '../../auth/passwords/credentials.service';
import { type MailResponse, toMailResponse, type UserMailResponse } from './mails.dto';
import { mailStates } from './mail-list';
import { MailsRepository } from './mails.repository';
import { mailsUnsent } from './user-mails.metrics';

/** Number of mails that the login check shows. */
const mailsShown = 10;
/** Mails whose links replace each other. */
const purposeOf: Partial<Record<MailName, string>> = {
  invitation: 'invite',
  reset: 'reset',
  secured: 'reset',
  'email-confirmation': 'email',
};
const kindOf = { invite: 'invitation', reset: 'reset', email: 'email-confirmation' } as const;

/** Lists and retries mails that are not sent yet. */
@Injectable()
export class MailsService {
  constructor(
    private readonly mails: MailsRepository,
    private readonly jobs: JobsService,
    private readonly credentials: CredentialsService,
    private readonly events: EventsService,
    metrics: MetricsService,
  ) {
    metrics.sample(
      [mailsUnsent],
      () => this.mails.countByState(),
      (rows) => {
        for (const state of mailStates) mailsUnsent.set({ state }, 0);
        rows.forEach(({ state, count }) => mailsUnsent.set({ state }, count));
      },
    );
  }

  /** Returns one page of the mails to users within the actor's scope. */
  async list(actor: Actor, query: ListQuery): Promise<Page<MailResponse>> {
    const page = await this.mails.list(actor, query);
    return { ...page, items: page.items.map(toMailResponse) };
  }

  /**
   * Returns the newest mails to a user: those that are not sent yet, and the sent links that the
   * user neither used nor replaced. The queue does not keep other sent mails.
   */
  async listOf(user_id: string): Promise<UserMailResponse[]> {
    const unsent = (await this.mails.listOf(user_id, mailsShown)).map(toMailResponse);
    const links = (await this.credentials.listMailed(user_id)).filter(
      ({ purpose }) => !unsent.some(({ kind }) => purposeOf[kind] === purpose),
    );
    return [
      ...unsent.map(({ mail_id, kind, state, attempts, last_error, created_at }) => ({
        at: created_at,
        mail: { mail_id, kind, state, attempts, ...(last_error !== null && { last_error }) },
      })),
      ...links.map(({ purpose, sent_at }) => ({
        at: sent_at,
        mail: { kind: kindOf[purpose], state: 'sent' as const, sent_at },
      })),
    ]
      .sort((one, other) => other.at.getTime() - one.at.getTime())
      .slice(0, mailsShown)
      .map(({ mail }) => mail);
  }

  /**
   * Sends a waiting or failed mail now. If the limit of its address delayed the mail, the job
   * checks the limit again and may delay the mail again (E13).
   * @throws mail.not_found, mail.being_sent
   */
  @Transactional()
  async retry(actor: Actor, mail_id: string): Promise<MailResponse> {
    const mail = await this.mails.find(mail_id, actor);
    if (mail === null) throw new AppError('mail.not_found');
    if (!(await this.jobs.runNow(mail_id))) throw new AppError('mail.being_sent');
    const { user_id, carrier_id, kind } = mail;
    const changes = { mail_id: { after: mail_id }, kind: { after: kind } };
    await this.events.record(actor, 'mail.retried', { id: user_id, carrier_id }, changes);
    const retried = await this.mails.find(mail_id, actor);
    return toMailResponse(retried ?? mail);
  }
}
