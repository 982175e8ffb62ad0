import type { FactorKind } from '../../access/actor';
import { namedEnum } from '../named-enum';

const noticeNames = [
  'password-changed',
  'email-change-notice',
  'token-reuse',
  'factor-enrolled',
  'factor-removed',
  'factors-reset',
  'recovery-code-used',
  'recovery-codes-low',
  'recovery-codes-renewed',
  'passkey-counter',
  'second-step-missing',
  'new-address-login',
  'webhook-disabled',
] as const;

const linkMails = ['invitation', 'reset', 'secured', 'email-confirmation'] as const;

/** Name of a mail with a link, other than a notice. */
export type LinkMail = (typeof linkMails)[number];

/** Kind of mail. */
export const mailNames = namedEnum('MailKind', [...linkMails, 'enrollment-code', ...noticeNames]);

/** Name of a mail that reports a change or a login. */
export type NoticeName = (typeof noticeNames)[number];

/** Notices of changes that the user can undo with a link if the user's own session made them. */
export const undoableNotices: MailName[] = [...noticeNames].filter((name) =>
  /^(password|email)-|-(enrolled|removed)$/.test(name),
);

/** Name of a mail to a user. */
export type MailName = (typeof mailNames)[number];

/** Returns whether a mail reports a change or a login. */
export function isNotice(mail: MailName): mail is NoticeName {
  return (noticeNames as readonly MailName[]).includes(mail);
}

/**
 * Text of a mail. `{duration}` is replaced by the lifetime of its link or code, `{code}` by the
 * code.
 */
export interface MailText {
  subject: string;
  paragraphs: string[];
  /** label of the link, if the mail has one */
  button?: string;
}

/** Facts that a mail states besides the account and the origin. */
export interface MailFacts {
  /** kind of the second factor; the mail omits its name, because an attacker may have chosen it */
  factor?: FactorKind;
  /** number of recovery codes that can still be used */
  codes_left?: number;
  /** API keys that the user created and that still work; an attacker may have chosen their names */
  keys?: { key_id: string; name: string }[];
  /** API keys that were suspended */
  suspended_keys?: { key_id: string; name: string }[];
  /** target of a webhook */
  webhook?: string;
}

/** Labels of the details below the text of a mail. */
export interface MailLabels {
  name: string;
  carrier: string;
  factor: string;
  codes_left: string;
  keys: string;
  suspended_keys: string;
  webhook: string;
  time: string;
  ip: string;
  device: string;
  changed_by: string;
  /** value for an address or device that is not known */
  unknown: string;
  /** value of `changed_by` if another user or an API key made the change */
  administration: string;
  /** values of `factor` */
  factors: Record<FactorKind, string>;
}

/** Texts of all mails in one language. */
export type MailTexts = Record<MailName | 'test', MailText> & {
  labels: MailLabels;
  /** button and text of the link that undoes a change */
  not_me: Pick<MailText, 'button' | 'paragraphs'>;
};
