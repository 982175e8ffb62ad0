import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { MailerService } from '@nestjs-modules/mailer';
import { currentTime } from '../common/clock';
import { deriveKey, newId } from '../common/random';
import { CONFIG, type Config, serviceUrl } from '../config/config';
import { mailFault } from './mail-fault';
import type { MailName } from './mail-name';
import { mailText } from './mail-text';

export type { MailName } from './mail-name';

/** Recipient of a mail. */
export interface Recipient {
  email: string;
  /** language of the mail as BCP 47 tag; null = English */
  locale: string | null;
}

/**
 * Sends mails, with one method per mail.
 * No mail contains text that a user chose, so that no user can put text or links into the mail of
 * another user. Links are built from the configuration, never from request headers
 * (GHSA-93m4-mfpg-c3xf).
 */
@Injectable()
export class MailService {
  private readonly logger = new Logger(MailService.name);
  private readonly recipientKey: Buffer;

  constructor(
    private readonly mailer: MailerService,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.recipientKey = deriveKey(config.APP_SECRET, 'mail-recipients');
  }

  /** Sends an invitation with a link to set the first password. */
  async sendInvitation(to: Recipient, token: string): Promise<void> {
    await this.send('invitation', to, this.resetLink(token), this.config.INVITE_TOKEN_TTL_SECONDS);
  }

  /** Sends a link to set a new password. */
  async sendReset(to: Recipient, token: string): Promise<void> {
    await this.send('reset', to, this.resetLink(token), this.config.RESET_TOKEN_TTL_SECONDS);
  }

  /** Notifies a user that their password was changed. */
  async sendPasswordChanged(to: Recipient): Promise<void> {
    await this.send('password-changed', to);
  }

  /** Sends a confirmation link to the proposed address. */
  async sendEmailConfirmation(to: Recipient, token: string): Promise<void> {
    const page = this.config.EMAIL_PAGE_URL ?? `${serviceUrl(this.config)}/auth/email/{token}`;
    await this.send('email-confirmation', to, page.replace('{token}', token), 86_400);
  }

  /** Notifies the current address that a new address was proposed. */
  async sendEmailChangeNotice(to: Recipient): Promise<void> {
    await this.send('email-change-notice', to);
  }

  /** Notifies a user that a replayed refresh token ended a session. */
  async sendTokenReuse(to: Recipient): Promise<void> {
    await this.send('token-reuse', to);
  }

  /** Returns the link to the page that sets a password. */
  resetLink(token: string): string {
    return (this.config.RESET_PAGE_URL ?? `${serviceUrl(this.config)}/auth/reset/{token}`).replace('{token}', token);
  }

  /**
   * Skips addresses under `.invalid` (RFC 6761): the first administrator has one until it changes.
   */
  private async send(name: MailName, to: Recipient, link?: string, ttl_seconds = 0): Promise<void> {
    if (to.email.endsWith('.invalid')) return;
    const { subject, paragraphs, button, language } = mailText(name, to.locale, ttl_seconds);
    const service = serviceUrl(this.config);
    const text = [...paragraphs.map(wrap), ...(link === undefined ? [] : [link]), service].join('\n\n');
    const context = { subject, paragraphs, button, language, link, service };
    const recipient = { name: '', address: to.email };
    const mail = { to: recipient, subject, text, template: 'mail', context };
    const sending = this.mailer.sendMail(mail) as Promise<{ message?: Buffer }>;
    const sent = await sending.catch((error: unknown) => {
      throw mailFault(error, name, to.email, this.recipientKey);
    });
    if (this.config.SMTP_URL === undefined && sent.message !== undefined) await this.writeFile(name, sent.message);
  }

  private async writeFile(name: MailName, message: Buffer): Promise<void> {
    const outbox = join(this.config.DATA_DIR, 'outbox');
    await mkdir(outbox, { recursive: true, mode: 0o700 });
    const file = join(outbox, `${currentTime().toISOString().replace(/[:.]/g, '-')}-${name}-${newId()}.eml`);
    await writeFile(file, message, { mode: 0o600 });
    this.logger.log(`mail written to ${file}`);
  }
}

/** Wraps text at 76 columns. Longer lines would be encoded, and the encoding would break links. */
function wrap(text: string): string {
  return text.replace(/(?=.{77})(.{1,76}) /g, '$1\n');
}
