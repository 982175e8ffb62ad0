import { PageResponse } from '../../http/lists/page.dto';
import type { MailName } from '../../platform/mail/mail-name';
import { shownMailError } from '../../platform/mail/mail-error';
import type { mailStates, userMailStates } from './mail-list';

/** A mail that is not sent yet. Contains neither its text nor its link. */
export class MailResponse {
  /**
   * stays the same when the mail is retried; a delayed mail gets a new id when it is due or
   * retried
   * @example 00000000-0000-8000-8000-00000000002a
   */
  mail_id!: string;
  /** kind of mail */
  kind!: MailName;
  /**
   * `waiting` for its first attempt; `retrying` after a failed attempt; `sending` while an attempt
   * runs; `failed` after the last attempt, about four days after the first
   */
  state!: (typeof mailStates)[number];
  /** id of the user who receives the mail */
  user_id!: string;
  /** login name of the user */
  name!: string;
  /** carrier of a Carrier User */
  carrier_id!: string | null;
  /** address of the recipient @example ada@example.com */
  recipient!: string;
  /** number of attempts so far, at most 25; `POST /mail/{mail_id}/retry` resets it to 0 @example 3 */
  attempts!: number;
  /** response of the mail server to the last failed attempt, or why there was none @example 550 mailbox unavailable */
  last_error!: string | null;
  /**
   * true if at least two attempts failed, or if the mail server rejected the mail permanently (5xx)
   */
  failing!: boolean;
  /** when the mail was requested */
  created_at!: Date;
  /** time of the next attempt; null while `sending` and after the last attempt */
  next_attempt_at!: Date | null;
}

/** A mail to a user: not sent yet, or sent with a link that was neither used nor replaced. */
export class UserMailResponse {
  /** absent for a sent mail @example 00000000-0000-8000-8000-00000000002a */
  mail_id?: string;
  /** kind of mail */
  kind!: MailName;
  /** `sent` once the mail server has accepted the mail; otherwise see `GET /mail/list` */
  state!: (typeof userMailStates)[number];
  /** number of attempts so far; absent for a sent mail @example 3 */
  attempts?: number;
  /** response of the mail server to the last failed attempt @example 550 mailbox unavailable */
  last_error?: string;
  /** when the mail server got the mail; absent for any other mail */
  sent_at?: Date;
}

/** A page of mails. */
export class MailListResponse extends PageResponse {
  /** newest first unless sorted otherwise */
  items!: MailResponse[];
}

/** Returns the public fields of a mail, from an allow-list. */
export function toMailResponse(mail: MailResponse): MailResponse {
  const { mail_id, kind, state, user_id, name, carrier_id, recipient, attempts } = mail;
  const { failing, created_at, next_attempt_at } = mail;
  const last_error = mail.last_error === null ? null : shownMailError(mail.last_error);
  const account = { user_id, name, carrier_id, recipient };
  return { mail_id, kind, state, ...account, attempts, last_error, failing, created_at, next_attempt_at };
}
