import type { MailName, MailOrigin } from '../mail/mail.service';

/** Name of the job that sends a mail to a user. */
export const mailJob = 'send-mail';

/**
 * Payload of the job that sends a mail. The job creates the token of the link when it sends the
 * mail, so that the queue contains no link.
 */
export interface MailJob {
  user_id: string;
  mail: MailName;
  /** recipient, if it is not the current address */
  email?: string;
  /** true if the mail exceeded the limit of its address; the job checks the limit again */
  delayed?: boolean;
  /** origin of the change that the mail reports */
  origin?: MailOrigin;
}
