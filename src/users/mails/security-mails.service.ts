import { Injectable } from '@nestjs/common';
import { type Actor, type Caller, type FactorKind, isOneself } from '../../access/actor';
import { newId } from '../../platform/random';
import { CredentialsService } from '../../auth/passwords/credentials.service';
import { JobsService } from '../../platform/jobs/jobs.service';
import type { MailFacts, NoticeName } from '../../platform/mail/mail-name';
import { originOf, originOfOther } from '../../platform/mail/mail-origin';
import { type RateLimit, RateLimitsService } from '../../access/rate-limits/rate-limits.service';
import { enqueueMails, mailJob, type MailJob, mailKey } from './mail-job';

type Origin = Pick<Caller, 'ip' | 'user_agent'>;

/** A right password that no second step followed. */
export interface AbandonedLogin extends Origin {
  user_id: string;
  /** when the password was entered */
  created_at: Date;
}

const daySeconds = 86_400;
/** Per user: an attacker must not flood the inbox of a user. */
const passkeyLimit: RateLimit = { name: 'passkey counters', max: 5, window_seconds: daySeconds };
const addressLimit: RateLimit = { name: 'new addresses', max: 5, window_seconds: daySeconds };
const secondStepLimit: RateLimit = { name: 'missing second steps', max: 1, window_seconds: daySeconds };
const enrollmentCodeLimit: RateLimit = { name: 'enrollment codes', max: 10, window_seconds: daySeconds };
/** With this number of recovery codes or fewer, the mail asks for new ones. */
const fewCodes = 2;

/**
 * Enqueues the mails about second factors and logins, in the transaction of the change that they
 * report. A user gets a mail for each change of factors. Mails that another person can trigger are
 * limited per user.
 */
@Injectable()
export class SecurityMailsService {
  constructor(
    private readonly jobs: JobsService,
    private readonly limits: RateLimitsService,
    private readonly credentials: CredentialsService,
  ) {}

  /** Notifies a user that a second factor was confirmed. */
  async factorEnrolled(actor: Actor, user_id: string, factor: FactorKind): Promise<void> {
    if (isOneself(actor, user_id)) await this.credentials.recordChange(user_id);
    await this.enqueueEach(user_id, 'factor-enrolled', originFor(actor, user_id), { factor });
  }

  /** Notifies a user that one second factor was removed. */
  async factorRemoved(actor: Actor, user_id: string, factor: FactorKind, factor_id: string): Promise<void> {
    if (isOneself(actor, user_id)) await this.credentials.recordChange(user_id, factor_id);
    await this.enqueueEach(user_id, 'factor-removed', originFor(actor, user_id), { factor });
  }

  /** Notifies users that all of their second factors were removed. */
  async factorsReset(actor: Actor, user_ids: string[]): Promise<void> {
    await enqueueMails(
      this.jobs,
      user_ids.map((user_id) => ({ user_id, mail: 'factors-reset', origin: originFor(actor, user_id) })),
    );
  }

  /**
   * Notifies a user that a recovery code was used, and asks for new codes if at most two are left.
   * @param codes_left number of recovery codes after the use
   */
  async recoveryCodeUsed(caller: Origin, user_id: string, codes_left: number): Promise<void> {
    const mail = codes_left <= fewCodes ? 'recovery-codes-low' : 'recovery-code-used';
    await this.enqueueEach(user_id, mail, originOf(caller), { codes_left });
  }

  /**
   * Notifies a user that new recovery codes replaced the old ones.
   * @param codes_left number of new codes
   */
  async recoveryCodesRenewed(actor: Actor, user_id: string, codes_left: number): Promise<void> {
    await this.enqueueEach(user_id, 'recovery-codes-renewed', originFor(actor, user_id), { codes_left });
  }

  /** Notifies a user of a passkey whose signature counter went back, at most 5 times a day. */
  async passkeyCounterWentBack(caller: Origin, user_id: string): Promise<void> {
    if ((await this.limits.takeOrWait(passkeyLimit, user_id)) !== null) return;
    await this.enqueueEach(user_id, 'passkey-counter', originOf(caller), { factor: 'passkey' });
  }

  /** Notifies a user of a login from a new address, at most 5 times a day. */
  async newAddressLogin(caller: Origin, user_id: string): Promise<void> {
    if ((await this.limits.takeOrWait(addressLimit, user_id)) === null)
      await this.enqueueEach(user_id, 'new-address-login', originOf(caller));
  }

  /** Notifies users of right passwords without a second step, each user at most once a day. */
  async secondStepsMissing(logins: AbandonedLogin[]): Promise<void> {
    const byUser = new Map(logins.map((login) => [login.user_id, login]));
    if (byUser.size === 0) return;
    const waits = await this.limits.takeOrWaitAll(secondStepLimit, [...byUser.keys()]);
    const notices = [...byUser.values()].filter(({ user_id }) => !waits.has(user_id));
    await enqueueMails(
      this.jobs,
      notices.map(({ user_id, created_at, ...caller }) => ({
        user_id,
        mail: 'second-step-missing',
        origin: originOf(caller, created_at.toISOString()),
      })),
    );
  }

  /**
   * Mails the code to enrol the first factor, at most 10 times a day. The job that sends it mints
   * the code.
   */
  async enrollmentCode(caller: Origin, user_id: string): Promise<void> {
    if ((await this.limits.takeOrWait(enrollmentCodeLimit, user_id)) !== null) return;
    await enqueueMails(this.jobs, [{ user_id, mail: 'enrollment-code', origin: originOf(caller) }]);
  }

  /** Enqueues a mail that replaces no waiting mail, so that none hides another. */
  private async enqueueEach(
    user_id: string,
    mail: NoticeName,
    origin: MailJob['origin'],
    facts?: MailFacts,
  ): Promise<void> {
    const job: MailJob = { user_id, mail, ...(origin && { origin }), ...(facts && { facts }) };
    await this.jobs.enqueue(mailJob, { ...job }, `${mailKey(job)}:${newId()}`);
  }
}

/** Returns the origin of a change. Users must not see the address of an administrator. */
function originFor(actor: Actor, user_id: string): MailJob['origin'] {
  return isOneself(actor, user_id) ? originOf(actor) : originOfOther();
}
