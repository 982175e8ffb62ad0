import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { type Caller, systemActorFor } from '../../access/actor';
import { callerFor } from '../../access/portal';
import { EventsService } from '../../audit/events.service';
import { JobsService } from '../../platform/jobs/jobs.service';
import { MailService, type Recipient } from '../../platform/mail/mail.service';
import { UserMailsService } from '../../users/mails/user-mails.service';
import { UserPasswordsService } from '../../users/user-passwords.service';

const resetJob = 'request-reset';
/**
 * Maximum random delay of a reset request, and maximum number of discarded mails per second. A job
 * starts within two seconds after its delay.
 */
export const resetLimits = { delaySeconds: 3, imitationsPerSecond: 20 };

type ResetRequest = Omit<Caller, 'user_agent'> & { email: string };
/** Recipient of the mails that are rendered and discarded. */
const nobody: Recipient = { email: 'nobody@x.invalid', name: '', carrier_id: null, locale: null, timezone: null };

/**
 * Handles requests to reset a password in the background, so that responses reveal no user. The job
 * runs at a random moment and renders a mail for every address. Otherwise the latency of requests
 * in the next milliseconds would reveal whether the user exists (L31).
 */
@Injectable()
export class ResetRequestsService implements OnModuleInit {
  private readonly imitations = new RateLimiterMemory({ points: 1, duration: 1 });

  constructor(
    private readonly jobs: JobsService,
    private readonly passwords: UserPasswordsService,
    private readonly mails: UserMailsService,
    private readonly mail: MailService,
    private readonly events: EventsService,
  ) {}

  onModuleInit(): void {
    this.jobs.handle(resetJob, (job) => this.handle(job as unknown as ResetRequest));
  }

  /**
   * Enqueues a job that looks up the user later.
   * Known and unknown addresses get the same response after the same work (OWASP Forgot Password;
   * ASVS 6.3.8).
   */
  async request(email: string, { ip, request_id, portal }: Caller): Promise<void> {
    const payload: ResetRequest = { email, ip, request_id, ...(portal && { portal }) };
    await this.jobs.enqueueMany(resetJob, [{ payload, delay_seconds: Math.random() * resetLimits.delaySeconds }]);
  }

  private async handle(request: ResetRequest): Promise<void> {
    if (await this.mailLink(request)) return;
    // Beyond the limit, a flood of requests must not take the time of other jobs.
    const { consumedPoints } = await this.imitations.penalty('');
    if (consumedPoints <= resetLimits.imitationsPerSecond) await this.mail.sendLink('reset', nobody, 'A'.repeat(43));
  }

  /**
   * Mails a reset link, or an invitation to an invited user. Returns false for disabled and unknown
   * users, and beyond the limits.
   */
  @Transactional()
  private async mailLink({ email, ...caller }: ResetRequest): Promise<boolean> {
    const user = email.includes('@') ? await this.passwords.findByLogin(email) : null;
    if (user === null || user.status === 'disabled') return false;
    const actor = systemActorFor(callerFor({ ...caller, user_agent: null }, user));
    if (!(await this.mails.requestReset(user, actor.ip))) return false;
    await this.events.record(actor, 'password.reset_requested', { id: user.user_id, carrier_id: user.carrier_id });
    return true;
  }
}
