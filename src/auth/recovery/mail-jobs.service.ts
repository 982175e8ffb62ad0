import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Answered } from '../../platform/times';
import { CredentialsService } from '../passwords/credentials.service';
import { EnrollmentCodesService, enrollmentCodeSeconds } from '../second-factors/codes/enrollment-codes.service';
import { JobsService } from '../../platform/jobs/jobs.service';
import { MailService, type Recipient } from '../../platform/mail/mail.service';
import { isNotice, type LinkMail, undoableNotices } from '../../platform/mail/mail-name';
import { UserPasswordsService } from '../../users/user-passwords.service';
import { UserMailsService } from '../../users/mails/user-mails.service';
import { mailJob, type MailJob } from '../../users/mails/mail-job';
import type { UserResponse } from '../../users/users.dto';

type Addressee = Recipient & { user_id: string };

const purposes = { invitation: 'invite', reset: 'reset', secured: 'reset', 'email-confirmation': 'email' } as const;

/**
 * Handles the jobs that send mail.
 * The token of a link and the digits of a code are minted when the mail is sent, so that the job
 * queue contains no secret and nothing is mailed after it expired.
 */
@Injectable()
export class MailJobsService implements OnModuleInit {
  constructor(
    private readonly jobs: JobsService,
    private readonly passwords: UserPasswordsService,
    private readonly credentials: CredentialsService,
    private readonly mails: UserMailsService,
    private readonly mail: MailService,
    private readonly codes: EnrollmentCodesService,
  ) {}

  onModuleInit(): void {
    this.jobs.handle(mailJob, (job) => this.send(job as unknown as MailJob));
  }

  private async send({ user_id, mail, email, delayed, origin, facts }: MailJob): Promise<void> {
    const user = await this.passwords.find(user_id);
    // A disabled user must also learn of a reset: the user may be enabled again.
    if (user === null || (user.status === 'disabled' && mail !== 'factors-reset')) {
      // A suspended invitation counts as not sent: it is sent once its user is enabled or restored.
      if (mail === 'invitation') await this.credentials.requestTokens([user_id], 'invite');
      return;
    }
    const to: Addressee = { ...user, email: email ?? user.email };
    if (isNotice(mail)) {
      const token = undoableNotices.includes(mail) ? await this.credentials.findChangeToken(user_id, to.email) : null;
      return this.mail.sendNotice(mail, to, { origin, facts, token });
    }
    switch (mail) {
      case 'invitation':
        if (user.status !== 'invited') return;
        return delayed === true ? this.inviteDelayed(user, to.email) : this.sendLink(mail, to);
      case 'reset':
      case 'secured':
        return user.status === 'active' ? this.sendLink(mail, to) : undefined;
      case 'email-confirmation':
        if (user.email_pending === null) return;
        return delayed === true
          ? this.confirmDelayed(user_id, user.email_pending)
          : this.sendLink(mail, { ...user, email: user.email_pending });
      case 'enrollment-code':
        return user.status === 'active' ? this.sendCode(user_id, to, origin) : undefined;
    }
  }

  /** Sends an invitation that was delayed. Skips it if the user has another address by now. */
  @Transactional()
  private async inviteDelayed(user: Answered<UserResponse>, email: string): Promise<void> {
    if (user.email === email) await this.mails.invite(user);
  }

  @Transactional()
  private async confirmDelayed(user_id: string, email_pending: string): Promise<void> {
    await this.mails.confirm(user_id, email_pending);
  }

  /**
   * Mints a token and sends its link. Skips the mail if the user was disabled or the address was
   * dropped while the job was waiting.
   */
  private async sendLink(mail: LinkMail, to: Addressee): Promise<void> {
    const token = await this.credentials.mintToken(to.user_id, purposes[mail], to.email);
    if (token === null) return;
    const facts = mail === 'secured' ? { suspended_keys: await this.mails.listSuspendedKeys(to.user_id) } : {};
    await this.mail.sendLink(mail, to, token, facts);
  }

  /** Mints a code and sends it. Skips the mail if the code is no longer needed. */
  private async sendCode(user_id: string, to: Recipient, origin: MailJob['origin']): Promise<void> {
    const code = await this.codes.mint(user_id);
    if (code !== null) await this.mail.sendEnrollmentCode(to, code, enrollmentCodeSeconds, origin);
  }
}
