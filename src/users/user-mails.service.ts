import { Injectable } from '@nestjs/common';
import { CredentialsService } from '../credentials/credentials.service';
import type { Changes } from '../events/events.service';
import { JobsService } from '../jobs/jobs.service';
import type { MailName } from '../mail/mail.service';

/** Name of the job that sends a mail to a user. */
export const mailJob = 'send-mail';

/** What the job of a mail carries: whom and what for. The token of its link is minted when it is sent, so no link lies in a queue. */
export interface MailJob {
  user_id: string;
  mail: MailName;
  /** where to, if not to the address in force */
  email?: string;
}

/** Asks for mails to users, in the transaction of what they are about. */
@Injectable()
export class UserMailsService {
  constructor(
    private readonly credentials: CredentialsService,
    private readonly jobs: JobsService,
  ) {}

  /** An invitation; the older link dies at once. */
  async invite(user_id: string): Promise<void> {
    await this.credentials.requestToken(user_id, 'invite');
    await this.enqueue({ user_id, mail: 'invitation' });
  }

  /** Invitations to many who were just created. */
  async inviteNew(user_ids: string[]): Promise<void> {
    await this.credentials.requestTokens(user_ids, 'invite');
    const jobs = user_ids.map((user_id) => ({ payload: { user_id, mail: 'invitation' } satisfies MailJob, key: `invitation:${user_id}` }));
    await this.jobs.enqueueMany(mailJob, jobs);
  }

  /**
   * What follows from a proposed address: a link to it and a notice to the one in force, or for an invited user a new
   * invitation. The same address proposed once more gets another link, since the first may be lost or expired; the
   * address in force, repeated among other changes, leaves the links alone.
   */
  async emailProposed(user: { user_id: string; email: string; email_pending: string | null }, changes: Changes): Promise<void> {
    const { user_id, email, email_pending } = user;
    if (changes.email === undefined && changes.email_pending === undefined && email_pending === null) return;
    await this.credentials.voidTokens([user_id]);
    if (changes.email !== undefined) await this.invite(user_id);
    if (email_pending === null) return;
    await this.credentials.requestToken(user_id, 'email');
    await this.enqueue({ user_id, mail: 'email-confirmation' });
    await this.enqueue({ user_id, mail: 'email-change-notice', email });
  }

  /** Takes back the mails whose links a new password has made void. */
  async cancelLinks(user_id: string): Promise<void> {
    await this.jobs.cancel(`reset:${user_id}`);
    await this.jobs.cancel(`invitation:${user_id}`);
    await this.jobs.cancel(`email-confirmation:${user_id}`);
  }

  /** Any other mail to a user. */
  async enqueue(job: MailJob): Promise<void> {
    await this.jobs.enqueue(mailJob, { ...job }, `${job.mail}:${job.user_id}`);
  }
}
