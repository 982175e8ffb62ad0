import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { MailerService } from '@nestjs-modules/mailer';
import { currentTime } from '../common/clock';
import { newId } from '../common/random';
import { CONFIG, type Config, serviceUrl } from '../config/config';
import type { MailName } from './mail-name';
import { mailText } from './mail-text';

export type { MailName } from './mail-name';

/** Whom a mail goes to, and in which language. */
export interface Recipient {
  email: string;
  /** BCP 47; the nearest language there is a text for */
  locale: string | null;
}

/**
 * One method per mail. No mail repeats text that a user chose, so that nobody can put words or
 * links into somebody else's mail; links are built from the configuration only, never from a
 * request's headers (GHSA-93m4-mfpg-c3xf).
 */
@Injectable()
export class MailService {
  private readonly logger = new Logger(MailService.name);

  constructor(
    private readonly mailer: MailerService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** An invitation with a link to set the first password. */
  async sendInvitation(to: Recipient, token: string): Promise<void> {
    await this.send('invitation', to, this.resetLink(token), this.config.INVITE_TOKEN_TTL_SECONDS);
  }

  /** A link to set a new password. */
  async sendReset(to: Recipient, token: string): Promise<void> {
    await this.send('reset', to, this.resetLink(token), this.config.RESET_TOKEN_TTL_SECONDS);
  }

  /** The notice that the password was changed. */
  async sendPasswordChanged(to: Recipient): Promise<void> {
    await this.send('password-changed', to);
  }

  /** A link to confirm a proposed address, to that address. */
  async sendEmailConfirmation(to: Recipient, token: string): Promise<void> {
    const page = this.config.EMAIL_PAGE_URL ?? `${serviceUrl(this.config)}/auth/email/{token}`;
    await this.send('email-confirmation', to, page.replace('{token}', token), 86_400);
  }

  /** The notice to the address in force that another was proposed. */
  async sendEmailChangeNotice(to: Recipient): Promise<void> {
    await this.send('email-change-notice', to);
  }

  /** The notice that a used-up refresh token came back and its session was ended. */
  async sendTokenReuse(to: Recipient): Promise<void> {
    await this.send('token-reuse', to);
  }

  /** The link under which a password is set. */
  resetLink(token: string): string {
    return (this.config.RESET_PAGE_URL ?? `${serviceUrl(this.config)}/auth/reset/{token}`).replace('{token}', token);
  }

  /**
   * Addresses under `.invalid` (RFC 6761) belong to nobody: the first administrator has one until
   * it is changed.
   */
  private async send(name: MailName, to: Recipient, link?: string, ttl_seconds = 0): Promise<void> {
    if (to.email.endsWith('.invalid')) return;
    const { subject, paragraphs, button, language } = mailText(name, to.locale, ttl_seconds);
    const service = serviceUrl(this.config);
    const text = [...paragraphs, ...(link === undefined ? [] : [link]), service].join('\n\n');
    const context = { subject, paragraphs, button, language, link, service };
    const sent = (await this.mailer.sendMail({
      to: { name: '', address: to.email },
      subject,
      text,
      template: 'mail',
      context,
    })) as {
      message?: Buffer;
    };
    if (this.config.SMTP_URL === undefined && sent.message !== undefined) await this.keep(name, sent.message);
  }

  private async keep(name: MailName, message: Buffer): Promise<void> {
    const outbox = join(this.config.DATA_DIR, 'outbox');
    await mkdir(outbox, { recursive: true, mode: 0o700 });
    const file = join(outbox, `${currentTime().toISOString().replace(/[:.]/g, '-')}-${name}-${newId()}.eml`);
    await writeFile(file, message, { mode: 0o600 });
    this.logger.log(`mail written to ${file}`);
  }
}
