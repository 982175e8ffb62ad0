/** Names of the mails to users. */
export const mailNames = [
  'invitation',
  'reset',
  'password-changed',
  'email-confirmation',
  'email-change-notice',
  'token-reuse',
] as const;

/** Name of a mail to a user. */
export type MailName = (typeof mailNames)[number];

/** Text of a mail. `{duration}` is replaced by the lifetime of the link. */
export interface MailText {
  subject: string;
  paragraphs: string[];
  /** label of the link, if the mail has one */
  button?: string;
}

/** Labels of the details below the text of a mail. */
export interface MailLabels {
  name: string;
  carrier: string;
  time: string;
  ip: string;
  device: string;
  changed_by: string;
  /** value for an address or device that is not known */
  unknown: string;
  /** value of `changed_by` if another user or an API key made the change */
  administration: string;
}

/** Texts of all mails in one language. */
export type MailTexts = Record<MailName | 'test', MailText> & { labels: MailLabels };
