import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { type ISendMailOptions, MailerService } from '@nestjs-modules/mailer';
import { currentTime } from '../clock';
import { deriveKey, newId } from '../random';
import { CONFIG, type Config, homeUrl, serviceUrl } from '../config/config';
import { inSpan } from '../tracing/spans';
import { detailsOf, plainText, shortLink } from './mail-content';
import { mailError } from './mail-error';
import { mails } from './mail.metrics';
import type { LinkMail, MailFacts, MailName, NoticeName } from './mail-name';
import type { MailOrigin } from './mail-origin';
import { mailText } from './mail-text';

/** Recipient of a mail. */
export interface Recipient {
  email: string;
  /** language of the mail as BCP 47 tag; null = English */
  locale: string | null;
  /** time zone of times in the mail; null = UTC */
  timezone: string | null;
  /** login name */
  name: string;
  carrier_id: string | null;
}

interface MailLink {
  /** address with `{token}` */
  page: string;
  token: string;
  ttl_seconds: number;
}

interface MailCode {
  text: string;
  ttl_seconds: number;
}

/** What a notice contains besides its text. */
interface NoticeContent {
  origin?: MailOrigin | undefined;
  facts?: MailFacts | undefined;
  /** token of the link that undoes the change */
  token?: string | null;
}

/** Name of the transport that discards mails. */
export const discarded = 'discarded';
const daySeconds = 86_400;

/** Result of sending a mail. Empty for a mail that was skipped. */
export interface SentMail {
  /** response of the mail server */
  response?: string;
  /** file with the mail, if no mail server is configured */
  file?: string;
}

/**
 * Sends mails.
 * A mail contains texts that other users chose: the login name and the carrier, which consist of
 * letters, digits, `.`, `_` and `-`, so that they contain neither markup nor a URL with a scheme or
 * path, and names of API keys. `mail-content.ts` keeps mail programs from turning a name such as
 * `www.evil.test` into a link. Links are built from the configuration, never from request headers
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

  /** Sends a mail with a link. A confirmation goes to the proposed address. */
  async sendLink(name: LinkMail, to: Recipient, token: string, facts?: MailFacts): Promise<void> {
    const { INVITE_TOKEN_TTL_SECONDS, RESET_TOKEN_TTL_SECONDS, EMAIL_PAGE_URL } = this.config;
    const emailPage = EMAIL_PAGE_URL ?? `${serviceUrl(this.config)}/auth/email/{token}`;
    const links = {
      invitation: { page: this.resetPage, ttl_seconds: INVITE_TOKEN_TTL_SECONDS },
      reset: { page: this.resetPage, ttl_seconds: RESET_TOKEN_TTL_SECONDS },
      secured: { page: this.resetPage, ttl_seconds: RESET_TOKEN_TTL_SECONDS },
      'email-confirmation': { page: emailPage, ttl_seconds: daySeconds },
    };
    await this.send(name, to, { link: { ...links[name], token }, facts });
  }

  /** Sends the code that the user enters to enrol the first factor. */
  async sendEnrollmentCode(to: Recipient, code: string, ttl_seconds: number, origin?: MailOrigin): Promise<void> {
    await this.send('enrollment-code', to, { code: { text: code, ttl_seconds }, origin });
  }

  async sendNotice(name: NoticeName, to: Recipient, { token, ...content }: NoticeContent): Promise<void> {
    const link = token ? { link: { page: this.resetPage, token, ttl_seconds: daySeconds } } : {};
    await this.send(name, to, { ...content, ...link });
  }

  async sendTest(email: string): Promise<SentMail> {
    return this.send('test', { email, locale: null, timezone: null, name: '', carrier_id: null }, {});
  }

  /** Returns the link to the page that sets a password. */
  resetLink(token: string): string {
    return this.resetPage.replace('{token}', token);
  }

  private get resetPage(): string {
    return this.config.RESET_PAGE_URL ?? `${serviceUrl(this.config)}/auth/reset/{token}`;
  }

  /**
   * Renders and discards mails to addresses under `.invalid` (RFC 6761). The first administrator
   * has such an address until it changes.
   * @throws LoggedError of `mailError`
   */
  private async send(
    name: MailName | 'test',
    to: Recipient,
    { link, code, origin, facts }: { link?: MailLink; code?: MailCode } & NoticeContent,
  ): Promise<SentMail> {
    const { PRODUCT_NAME: product, SMTP_URL } = this.config;
    const content = {
      ...mailText(name, to.locale, (link ?? code)?.ttl_seconds ?? 0, code?.text, link !== undefined),
      product,
      details: name === 'test' ? [] : detailsOf(to, origin, facts),
      home: homeUrl(this.config),
      link: link?.page.replace('{token}', link.token),
      shown_link: link === undefined ? undefined : shortLink(link.page),
    };
    const mail = {
      to: { name: '', address: to.email },
      subject: content.subject,
      text: plainText(content),
      template: 'mail',
      context: content,
      // RFC 3834 and RFC 2919: no automatic replies, and a stable value to filter by.
      headers: { 'Auto-Submitted': 'auto-generated' },
      list: { id: { url: `mails.${new URL(this.config.PUBLIC_URL).hostname}`, comment: product } },
    };
    if (to.email.endsWith('.invalid')) {
      await this.mailer.sendMail({ ...mail, transporterName: discarded });
      return {};
    }
    const { message, response } = await this.deliver(name, mail);
    return SMTP_URL === undefined && message !== undefined
      ? { file: await this.writeFile(name, message) }
      : { ...(response === undefined ? {} : { response }) };
  }

  private async deliver(
    name: string,
    mail: ISendMailOptions & { to: { name: string; address: string } },
  ): Promise<{ message?: Buffer; response?: string }> {
    try {
      const send = (): Promise<{ message?: Buffer; response?: string }> => this.mailer.sendMail(mail);
      const sent = await inSpan(`mail ${name}`, { kind: 'CLIENT' }, send);
      mails.inc({ mail: name, outcome: 'sent' });
      return sent;
    } catch (error) {
      mails.inc({ mail: name, outcome: 'failed' });
      throw mailError(error, { name, recipient: mail.to.address, key: this.recipientKey });
    }
  }

  private async writeFile(name: string, message: Buffer): Promise<string> {
    const outbox = join(this.config.DATA_DIR, 'outbox');
    const file = join(outbox, `${currentTime().toISOString().replace(/[:.]/g, '-')}-${name}-${newId()}.eml`);
    const write = () => writeFile(file, message, { mode: 0o600 });
    await write().catch(async () => {
      await mkdir(outbox, { recursive: true, mode: 0o700 });
      await write();
    });
    this.logger.log(`mail written to ${file}`);
    return file;
  }
}
