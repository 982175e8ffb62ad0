/** Names of the mails. */
export type MailName =
  'invitation' | 'reset' | 'password-changed' | 'email-confirmation' | 'email-change-notice' | 'token-reuse';

/** Text of a mail. `{duration}` is replaced by the lifetime of the link. */
export interface MailText {
  subject: string;
  paragraphs: string[];
  /** label of the link, if the mail has one */
  button?: string;
}

/** Texts of all mails in one language. */
export type MailTexts = Record<MailName, MailText>;
