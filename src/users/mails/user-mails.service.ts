import { Injectable } from '@nestjs/common';
import { type Actor, type Caller, selfOf } from '../../access/actor';
import { addressKey } from '../../platform/ip';
import { newId } from '../../platform/random';
import { CredentialsService } from '../../auth/passwords/credentials.service';
import type { Changes } from '../../audit/event.entity';
import { JobsService } from '../../platform/jobs/jobs.service';
import type { MailFacts, MailName } from '../../platform/mail/mail-name';
import { originOf, originOfOther } from '../../platform/mail/mail-origin';
import { type RateLimit, RateLimitsService } from '../../access/rate-limits/rate-limits.service';
import { enqueueMails, mailJob, type MailJob, mailKey } from './mail-job';
import { type LinkState, MailsRepository } from './mails.repository';

interface Addressee {
  user_id: string;
  email: string;
}

/** Per address, not per user: many new users with the same address would flood its inbox (E13). */
const invitationLimit: RateLimit = { name: 'invitations', max: 3, window_seconds: 3_600 };
const confirmationLimit: RateLimit = { name: 'confirmations', max: 3, window_seconds: 3_600 };
/** Per inbox: addresses with different plus-tags share an inbox. */
const inboxLimit: RateLimit = { name: 'confirmations of an inbox', max: 10, window_seconds: 3_600 };
/** Per user. Proposals by the user and by others have separate counters (R30). */
const proposalLimit: RateLimit = {
  name: 'proposals',
  max: 5,
  window_seconds: 3_600,
  detail: 'Too many new e-mail addresses of this user.',
};
/** Per address. Requests from known addresses of the user have their own counters (R7). */
const resetLimits: RateLimit[] = [
  { name: 'resets an hour', max: 3, window_seconds: 3_600 },
  { name: 'resets a day', max: 10, window_seconds: 86_400 },
];
/** Minimum time between two links that a user requests without a login. */
const pauseSeconds = 300;

/**
 * Enqueues mails to users, in the transaction of the change that causes them.
 * Delays an invitation or confirmation beyond its limit until the hour is over; the last mailed
 * link stays valid until then. Silently skips a reset beyond its limit.
 */
@Injectable()
export class UserMailsService {
  constructor(
    private readonly credentials: CredentialsService,
    private readonly jobs: JobsService,
    private readonly limits: RateLimitsService,
    private readonly repository: MailsRepository,
  ) {}

  /** Mails an invitation and voids the older invitation. Beyond the limit, both happen later. */
  async invite(user: Addressee): Promise<void> {
    const delay = await this.takeOrDelay([[invitationLimit, canonical(user.email)]]);
    // No token yet: the older link stays valid.
    if (delay !== null) return this.enqueue({ ...invitationOf(user), delayed: true }, delay);
    await this.credentials.requestTokens([user.user_id], 'invite');
    await this.enqueue(invitationOf(user));
  }

  /**
   * Mails invitations to users with different addresses, and voids their older invitations. Beyond
   * the limit, both happen later. Other mails have priority, so that an import delays no reset.
   */
  async inviteMany(users: Addressee[]): Promise<void> {
    const addresses = users.map(({ email }) => canonical(email));
    const waits = await this.limits.takeOrWaitAll(invitationLimit, addresses);
    const invited = users.filter(({ email }) => !waits.has(canonical(email)));
    await this.credentials.requestTokens(
      invited.map(({ user_id }) => user_id),
      'invite',
    );
    const mails = users.map((user) => {
      const delay_seconds = waits.get(canonical(user.email));
      const job: MailJob = { ...invitationOf(user), ...(delay_seconds === undefined ? {} : { delayed: true }) };
      return { payload: job, key: mailKey(job), ...(delay_seconds === undefined ? {} : { delay_seconds }) };
    });
    await this.jobs.enqueueMany(mailJob, mails, 1);
  }

  /** Mails new invitations to those of these users who are invited. */
  async inviteAgain(user_ids: string[]): Promise<void> {
    const links = await this.repository.listLinks(user_ids);
    await this.inviteMany(links.filter(({ state }) => state !== 'voided'));
  }

  /**
   * Estimates the seconds until the last of a number of new mails is sent, after the mails in the
   * queue, at the rate of this instance so far.
   */
  async secondsFor(mails: number): Promise<number> {
    if (mails === 0) return 0;
    const waiting = (await this.repository.countByState()).filter(({ state }) => state !== 'failed');
    const total = waiting.reduce((sum, { count }) => sum + count, mails);
    return Math.ceil(total * this.jobs.secondsPerJob(mailJob));
  }

  /**
   * Mails a link to set a password: an invitation to an invited user, otherwise a reset link.
   * Returns false if a limit or a mail in the last 5 minutes prevents it. Requests from known
   * addresses have separate limits, so that a stranger cannot use up the limits of the user (R7).
   * @param ip address of the request
   */
  async requestReset({ user_id, email, status }: Addressee & { status: string }, ip: string | null): Promise<boolean> {
    const invited = status === 'invited';
    const purpose = invited ? 'invite' : 'reset';
    // Checked first: a request within the pause must not count towards the limit.
    if (await this.credentials.wasRequested(user_id, purpose, pauseSeconds)) return false;
    const isKnown = ip !== null && (await this.credentials.isKnown(user_id, addressKey(ip)));
    const subject = isKnown ? `known ${canonical(email)}` : canonical(email);
    for (const limit of invited ? [invitationLimit] : resetLimits)
      if ((await this.limits.takeOrWait(limit, subject)) !== null) return false;
    if (!(await this.credentials.requestTokens([user_id], purpose, pauseSeconds))) return false;
    await this.enqueue(invited ? invitationOf({ user_id, email }) : { user_id, mail: 'reset' });
    return true;
  }

  /**
   * Mails a link to a proposed address and a notice to the current address. An invited user gets a
   * new invitation instead.
   * Proposing the same address again mails another link, because the first may be lost or expired.
   * Sending the current address with other changes voids no link.
   * Beyond the limit, the link is mailed later; until then, a link to the same address stays valid.
   * The notice has no limit, because it warns of a takeover.
   * @throws request.rate_limited beyond 5 own proposals, or 5 of others, in an hour
   */
  async emailProposed(
    actor: Actor,
    user: { user_id: string; email: string; email_pending: string | null },
    changes: Changes,
  ): Promise<void> {
    const { user_id, email, email_pending } = user;
    const isOwn = selfOf(actor) === user_id;
    if (changes.email === undefined && changes.email_pending === undefined && email_pending === null) return;
    const isRepeated = email_pending !== null && changes.email_pending === undefined;
    if (!isRepeated) {
      await this.credentials.voidTokens([user_id], ['invite', 'email']);
      // A waiting mail was counted for the older address.
      await this.cancel([user_id], ['invitation', 'email-confirmation']);
    }
    // An administrator may have replaced the address because a stranger has its mailbox.
    if (!isOwn) await this.credentials.voidTokens([user_id], ['not_me']);
    if (changes.email !== undefined) await this.invite(user);
    if (email_pending === null) return;
    await this.limits.demand(proposalLimit, isOwn ? `own ${user_id}` : user_id);
    await this.credentials.recordProposal(user_id);
    const isMailed = await this.confirm(user_id, email_pending);
    if (isRepeated && !isMailed) return;
    if (isOwn) await this.credentials.recordChange(user_id);
    const origin = isOwn ? originOf(actor) : originOfOther();
    await this.enqueue({ user_id, mail: 'email-change-notice', email, origin });
  }

  /**
   * Mails a link to a proposed address. Beyond the limit, the link is mailed later.
   * Returns whether the mail is sent now. The job of a delayed mail calls this method again, which
   * then counts the mail: any number of users may propose the same address.
   */
  async confirm(user_id: string, email_pending: string): Promise<boolean> {
    const address = canonical(email_pending);
    const delay = await this.takeOrDelay([
      [confirmationLimit, address],
      [inboxLimit, address.replace(/\+.*(?=@)/, '')],
    ]);
    if (delay !== null) await this.enqueue({ user_id, mail: 'email-confirmation', delayed: true }, delay);
    if (delay !== null) return false;
    await this.credentials.requestTokens([user_id], 'email');
    await this.enqueue({ user_id, mail: 'email-confirmation' });
    return true;
  }

  /**
   * Notifies a user that their password was changed.
   * @param keys API keys that the mail names
   */
  async passwordChanged(user_id: string, caller: Caller, keys: NonNullable<MailFacts['keys']>): Promise<void> {
    const facts = keys.length === 0 ? {} : { facts: { keys } };
    await this.enqueue({ user_id, mail: 'password-changed', origin: originOf(caller), ...facts });
  }

  /** Notifies a user that a replayed refresh token ended a session. */
  async tokenReused(user_id: string, caller: Caller): Promise<void> {
    await this.enqueue({ user_id, mail: 'token-reuse', origin: originOf(caller) });
  }

  /** Notifies the creator of a webhook that it was disabled. @param url target of the webhook */
  async webhookDisabled(user_id: string, url: string): Promise<void> {
    const job: MailJob = { user_id, mail: 'webhook-disabled', facts: { webhook: url } };
    await this.jobs.enqueue(mailJob, { ...job }, `${mailKey(job)}:${newId()}`);
  }

  /**
   * Mails missing links to users who were enabled, restored or secured: a link to choose a new
   * password if the old password was voided, or an invitation that was not sent yet. Valid
   * invitations work again without a mail, and expired invitations are not replaced. Mails to many
   * users wait for other jobs.
   * @param uninvited whether to invite users who were never invited
   */
  async restoreLinks(user_ids: string[], uninvited = false): Promise<Record<string, number>> {
    const found = await this.repository.listLinks(user_ids);
    const of = (wanted: LinkState) => found.filter(({ state }) => state === wanted);
    const secured = of('voided').map(({ user_id }): MailJob => ({ user_id, mail: 'secured' }));
    await enqueueMails(this.jobs, secured, secured.length > 1 ? 1 : 0);
    await this.inviteMany([...of('unsent'), ...(uninvited ? of('none') : [])]);
    return { links_restored: of('valid').length + of('unsent').length, links_expired: of('expired').length };
  }

  /** Returns the suspended API keys that a user created, for the mail about them. */
  listSuspendedKeys(user_id: string): Promise<NonNullable<MailFacts['suspended_keys']>> {
    return this.repository.listSuspendedKeys(user_id);
  }

  /**
   * Cancels the mails with links that a new or voided password voids.
   * @param isReset whether a link set the password, or the password was voided
   */
  async cancelLinks(user_ids: string[], isReset: boolean): Promise<void> {
    const mails = ['secured', 'reset', 'invitation', 'email-confirmation'] as const;
    await this.cancel(user_ids, isReset ? mails : ['email-confirmation']);
  }

  async cancelAll(user_ids: string[]): Promise<void> {
    await this.jobs.cancelOf(user_ids);
  }

  private async cancel(user_ids: string[], mails: readonly MailName[]): Promise<void> {
    await this.jobs.cancel(user_ids.flatMap((user_id) => mails.map((mail) => mailKey({ user_id, mail }))));
  }

  private async enqueue(job: MailJob, delay?: { delay_seconds: number }): Promise<void> {
    await enqueueMails(this.jobs, [job], 0, delay);
  }

  /** Counts a mail and returns null, or the time to wait if a limit is reached. */
  private async takeOrDelay(limits: [RateLimit, string][]): Promise<{ delay_seconds: number } | null> {
    for (const [limit, subject] of limits) {
      const delay_seconds = await this.limits.takeOrWait(limit, subject);
      if (delay_seconds !== null) return { delay_seconds };
    }
    return null;
  }
}

/**
 * Includes the address that was counted. If the user's address changes first, no mail is sent to
 * the new address.
 */
function invitationOf({ user_id, email }: Addressee): MailJob {
  return { user_id, mail: 'invitation', email };
}

/** Returns the form of an address for counting. Addresses are unique regardless of case. */
function canonical(email: string): string {
  return email.toLowerCase();
}
