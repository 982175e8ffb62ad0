/** The mails of the service. */
export type MailName =
  'invitation' | 'reset' | 'password-changed' | 'email-confirmation' | 'email-change-notice' | 'token-reuse';

/** Text of a mail; `{duration}` is filled in. */
export interface MailText {
  subject: string;
  paragraphs: string[];
  /** label of the link, where there is one */
  button?: string;
}

/** All mails in one language. */
export type MailTexts = Record<MailName, MailText>;
