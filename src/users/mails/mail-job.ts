import type { JobsService } from '../../platform/jobs/jobs.service';
import type { MailFacts, MailName } from '../../platform/mail/mail-name';
import type { MailOrigin } from '../../platform/mail/mail-origin';

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
  /** facts that the mail states */
  facts?: MailFacts;
}

/** Returns the key of a mail job: at most one mail of a kind waits for each user. */
export function mailKey({ mail, user_id }: Pick<MailJob, 'mail' | 'user_id'>): string {
  return `${mail}:${user_id}`;
}

/** Enqueues mails. At most one mail of a kind waits for each user. */
export async function enqueueMails(
  jobs: JobsService,
  mails: MailJob[],
  priority = 0,
  delay?: { delay_seconds: number },
): Promise<void> {
  const added = mails.map((job) => ({ payload: job, key: mailKey(job), ...delay }));
  if (added.length > 0) await jobs.enqueueMany(mailJob, added, priority);
}
