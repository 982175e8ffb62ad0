import { setTimeout as delay } from 'node:timers/promises';
import { createHmac } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, type Caller, systemActorFor } from '../../access/actor';
import { callerFor } from '../../access/portal';
import { AppError } from '../../http/errors/app-error';
import { shareOf } from '../../platform/instance';
import { addressKey } from '../../platform/ip';
import { deriveKey } from '../../platform/random';
import { CONFIG, type Config } from '../../platform/config/config';
import { CredentialsService } from '../passwords/credentials.service';
import { lockChangesOf, LoginAttemptsService } from '../passwords/login-attempts.service';
import type { LoginAttempt } from '../passwords/login-attempts.repository';
import { EventsService } from '../../audit/events.service';
import type { Changes } from '../../audit/event.entity';
import { toUserResponse, type UserResponse } from '../../users/users.dto';
import {
  type CompletedLogin,
  type IssuedChallenge,
  LoginCompletionService,
  type VerifiedLogin,
} from './login-completion.service';
import { LoginQueue, queueLimits } from './login-queue';
import { countOutcome, lockouts } from './logins.metrics';
import { type LoginClaim, type LoginRecord, LoginsRepository } from './logins.repository';

const runningPerAccountMax = shareOf(5);
/** Rejections that reveal that the password is right, and are therefore recorded. */
const rightPasswords = new Set<string>(['auth.ip_not_allowed', 'auth.scope_exceeded', 'request.invalid']);
const firstPauseMs = 10;
const longestPauseMs = 250;

/**
 * Logs users in. Every password is verified here, so that all ways to log in have the same limits
 * (OWASP ASVS 6.3.4).
 */
@Injectable()
export class LoginsService {
  private readonly logger = new Logger(LoginsService.name);
  private readonly unknownLoginsKey: Buffer;
  private readonly queue = new LoginQueue({ ...queueLimits, runningPerAccountMax });

  constructor(
    private readonly logins: LoginsRepository,
    private readonly credentials: CredentialsService,
    private readonly attempts: LoginAttemptsService,
    private readonly events: EventsService,
    private readonly completion: LoginCompletionService,
    @Inject(CONFIG) config: Config,
  ) {
    this.unknownLoginsKey = deriveKey(config.APP_SECRET, 'unknown-logins');
  }

  /** Returns whether the next attempt would be rejected because too many are running. */
  get isFull(): boolean {
    return this.queue.isFull;
  }

  /**
   * Logs a user in with a password. Returns a challenge for the second step if the user has a
   * second factor.
   * @throws auth.invalid_credentials, auth.ip_not_allowed, auth.scope_exceeded
   * @throws auth.too_many_attempts, service.overloaded
   */
  login(login: string, password: string, caller: Caller): Promise<CompletedLogin | IssuedChallenge> {
    const claim = { login: lowerCase(login) };
    // The attempt is closed before the next attempt on the account starts, so none has to poll.
    const inTurn = () =>
      this.queue.run(claim.login, async (deadline) => {
        const origin = callerFor(caller, caller.portal ? await this.logins.findClaimed(claim) : null);
        // Beyond the limit, the password counts as wrong: a 429 would reveal users (L30).
        const admitted = origin.client_id !== undefined || (await caller.portal?.admitsOther?.()) !== false;
        const actor = systemActorFor(origin);
        const verified = await this.verifyPassword(claim, admitted ? password : null, actor, deadline);
        if (verified === null) throw new AppError('auth.invalid_credentials');
        return this.complete(verified, origin);
      });
    return countOutcome<CompletedLogin | IssuedChallenge>(inTurn);
  }

  /**
   * Verifies the password of the actor before a sensitive change. The change must compare
   * `password_changed_at` of the returned user: a reset in between must win. For a user with a
   * second factor, the right password does not reset the counter.
   * @throws auth.wrong_current_password, auth.too_many_attempts, service.overloaded
   */
  verifyOwn(actor: Actor, password: string): Promise<UserResponse> {
    const { user_id } = actor;
    return this.queue.run(user_id, async (deadline) => {
      const verified = await this.verifyPassword({ user_id }, password, actor, deadline);
      if (verified === null) throw new AppError('auth.wrong_current_password');
      await this.releaseOnError(verified.attempt, () => this.closeRight(verified));
      return verified.user;
    });
  }

  /** Completes the login, or issues a challenge. Closes the attempt in any case. */
  private async complete(verified: VerifiedLogin, caller: Caller): Promise<CompletedLogin | IssuedChallenge> {
    try {
      return await this.completion.completePassword(verified, caller);
    } catch (error) {
      await this.close(verified, systemActorFor(caller), error);
      throw error;
    }
  }

  /**
   * Verifies a password. Returns null after a wrong password, which counts as a failure.
   * A missing user, a disabled user and a user without a password take as long as a wrong password.
   * Counts the attempt before the password is verified. Close it with `complete` or
   * `closeRight`.
   * @param password null = wrong
   */
  private async verifyPassword(
    claim: LoginClaim,
    password: string | null,
    actor: Actor,
    deadline: number,
  ): Promise<VerifiedLogin | null> {
    const { attempt, found } = await this.begin(claim, actor.ip, deadline);
    const user = found === null ? null : toUserResponse(found);
    const renewal = await this.releaseOnError(attempt, () =>
      this.credentials.verify(password === null ? null : found, password ?? ''),
    );
    if (user !== null && renewal !== null && renewal !== 'rejected') return { user, attempt, renewal };
    await this.fail(attempt, user, actor, renewal === 'rejected' ? { reason: { after: 'disabled' } } : {});
    return null;
  }

  /** Begins an attempt as soon as the other attempts on the account leave a free place. */
  private async begin(
    claim: LoginClaim,
    ip: string | null,
    deadline: number,
  ): Promise<{ attempt: LoginAttempt; found: LoginRecord | null }> {
    const missing = this.hash('login' in claim ? claim.login : claim.user_id);
    const address = ip === null ? '' : addressKey(ip);
    for (let pause = firstPauseMs; ; pause = Math.min(longestPauseMs, pause * 1.5)) {
      // Reads the user after the counter: a lock must not reveal that the user exists (L22).
      const user_id = (await this.logins.findClaimed(claim))?.user_id ?? null;
      const attempt = await this.attempts.begin({ account: user_id ?? missing, user_id, address });
      if (attempt !== null)
        return { attempt, found: await this.releaseOnError(attempt, () => this.logins.find(user_id)) };
      if (performance.now() + pause > deadline) throw new AppError('service.overloaded');
      await delay(pause);
    }
  }

  /** Closes the attempt of a login that was not completed. */
  private async close(verified: VerifiedLogin, actor: Actor, error: unknown): Promise<void> {
    const { attempt } = verified;
    const code = error instanceof AppError ? error.code : null;
    if (code === 'auth.invalid_credentials') await this.fail(attempt, verified.user, actor);
    else if (code !== null && rightPasswords.has(code))
      await this.releaseOnError(attempt, () => this.rejectRight(verified, actor, code));
    else await this.attempts.giveBack(attempt);
  }

  /** Closes the attempt without a failure, and records an event: the password may be stolen. */
  @Transactional()
  private async rejectRight(verified: VerifiedLogin, actor: Actor, code: string): Promise<void> {
    const { user_id, carrier_id } = verified.user;
    await this.closeRight(verified);
    const changes: Changes = { reason: { after: code } };
    await this.events.record(actor, 'login.failed', { id: user_id, carrier_id }, changes);
  }

  /** Closes the attempt of a right password. With a second factor, it resets no counter (M12). */
  private async closeRight({ attempt, user }: VerifiedLogin): Promise<void> {
    if (user.second_factors.length > 0) await this.attempts.release(attempt);
    else await this.attempts.pass(attempt);
  }

  /**
   * Closes the attempt as a failure. If the database fails, the attempt stays open and counts after
   * 15 seconds (L18). The response is still 401, because an attempt with a 503 must not count.
   */
  private async fail(attempt: LoginAttempt, user: UserResponse | null, actor: Actor, reason = {}): Promise<void> {
    // After the commit: a retried transaction must not count twice.
    await this.recordFailure(attempt, user, actor, reason).then(
      (locks) => locks && lockouts.inc(),
      (error: unknown) => this.logger.error(error, 'A failed login was not recorded. It counts after 15 seconds.'),
    );
  }

  /** Returns whether the failure locks the account. */
  @Transactional()
  private async recordFailure(
    attempt: LoginAttempt,
    user: UserResponse | null,
    actor: Actor,
    reason: Changes,
  ): Promise<boolean> {
    const { user_id = null, carrier_id = null } = user ?? {};
    await this.logins.lock(user_id);
    const failed = await this.attempts.fail(attempt);
    const target = { id: user_id, carrier_id };
    // An unknown login may be a password in the wrong field, so `account` is a keyed hash of it.
    const changes: Changes = user === null ? { login: { after: attempt.account } } : {};
    await this.events.record(actor, 'login.failed', target, { ...changes, ...reason });
    if (failed === null || failed.locked_until === null) return false;
    await this.events.record(actor, 'login.locked', target, { ...changes, ...lockChangesOf(failed) });
    // The user shows only the lockout of unknown addresses. A known address has a separate lockout.
    if (attempt.address === '') await this.logins.noteLock(user_id, failed.locked_until);
    return true;
  }

  private async releaseOnError<T>(attempt: LoginAttempt, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.attempts.giveBack(attempt);
      throw error;
    }
  }

  private hash(login: string): string {
    return createHmac('sha256', this.unknownLoginsKey).update(login).digest('base64url');
  }
}

/**
 * Lowers ASCII letters only. PostgreSQL must find a user by exactly the logins that share a counter
 * without a user: otherwise the difference would reveal existing users.
 */
function lowerCase(login: string): string {
  return login.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
