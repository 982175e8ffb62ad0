import { setTimeout as delay } from 'node:timers/promises';
import { createHmac } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, type Caller, systemActorFor } from '../access/actor';
import { AppError } from '../common/errors/app-error';
import { shareOf } from '../common/instance';
import { addressKey } from '../common/ip';
import { deriveKey, newId } from '../common/random';
import { CONFIG, type Config } from '../config/config';
import { CredentialsService, type PasswordRenewal } from '../credentials/credentials.service';
import { type LoginAttempt, LoginAttemptsService } from '../credentials/login-attempts.service';
import { type Changes, eventBase, EventsService } from '../events/events.service';
import { type Authentication, type OpenedSession, SessionsService } from '../sessions/sessions.service';
import { toUserResponse, type UserResponse } from '../users/users.dto';
import { LoginQueue } from './login-queue';
import { lockouts, logins, outcomeOf } from './logins.metrics';
import { type LoginClaim, type LoginRecord, LoginsRepository } from './logins.repository';

/** A user with a verified password. Close the open attempt with `completeLogin` or `pass`. */
export interface VerifiedLogin {
  user: UserResponse;
  attempt: LoginAttempt;
  /** changes of the stored password that the login persists */
  renewal: PasswordRenewal;
}

/** A login with its new session. */
export interface CompletedLogin extends OpenedSession {
  user: UserResponse;
  /** number of sessions that ended because the user had too many */
  ended: number;
}

const runningPerAccountMax = shareOf(5);
/** The waiting places of the hash queue and one running hash: the queue rejects further logins. */
const runningMax = shareOf(64) + 1;
const waitingMax = shareOf(128);
const firstPauseMs = 10;
const longestPauseMs = 250;

/**
 * Logs users in. Every password is verified here, so that all ways to log in have the same limits
 * (OWASP ASVS 6.3.4).
 */
@Injectable()
export class LoginsService {
  private readonly unknownLoginsKey: Buffer;
  private readonly queue = new LoginQueue({
    runningMax,
    runningPerAccountMax,
    waitingMax,
    waitingPerAccountMax: waitingMax / 2,
    patienceMs: 15_000,
  });

  constructor(
    private readonly logins: LoginsRepository,
    private readonly credentials: CredentialsService,
    private readonly attempts: LoginAttemptsService,
    private readonly sessions: SessionsService,
    private readonly events: EventsService,
    @Inject(CONFIG) config: Config,
  ) {
    this.unknownLoginsKey = deriveKey(config.APP_SECRET, 'unknown-logins');
  }

  /** Returns whether the next attempt would be rejected because too many are running. */
  get isFull(): boolean {
    return this.queue.isFull;
  }

  /**
   * Logs a user in with a password. Returns null after a wrong password.
   * @throws auth.invalid_credentials, auth.ip_not_allowed
   * @throws auth.too_many_attempts, service.overloaded
   */
  async login(login: string, password: string, caller: Caller): Promise<CompletedLogin | null> {
    try {
      const completed = await this.loginQueued(login, password, caller);
      logins.inc({ outcome: completed === null ? 'failed' : 'succeeded' });
      return completed;
    } catch (error) {
      logins.inc({ outcome: outcomeOf(error) });
      throw error;
    }
  }

  private loginQueued(login: string, password: string, caller: Caller): Promise<CompletedLogin | null> {
    const claim = { login: lowerCase(login) };
    // The attempt is closed before the next attempt on the account starts, so none has to poll.
    return this.queue.run(claim.login, async (deadline) => {
      const verified = await this.verifyPassword(claim, password, systemActorFor(caller), deadline);
      if (verified === null) return null;
      return this.completeLogin(verified, caller, { amr: ['pwd'], auth_time: verified.attempt.began_at });
    });
  }

  /**
   * Verifies the password of the actor for another purpose than a login. Returns null after a wrong
   * password.
   * @throws auth.too_many_attempts, service.overloaded
   */
  verifyOwn(actor: Actor, password: string): Promise<UserResponse | null> {
    const { user_id } = actor;
    return this.queue.run(user_id, async (deadline) => {
      const verified = await this.verifyPassword({ user_id }, password, actor, deadline);
      if (verified === null) return null;
      await this.releaseOnError(verified.attempt, () => this.attempts.pass(verified.attempt));
      return verified.user;
    });
  }

  /**
   * Closes the attempt, and opens a session.
   * A change since the password was verified wins: a disabled or deleted user, or a user with
   * another password, is not logged in (CVE-2026-1609).
   * @param authentication stored with the session
   * @throws auth.invalid_credentials, auth.ip_not_allowed
   */
  async completeLogin(
    verified: VerifiedLogin,
    caller: Caller,
    authentication: Authentication,
  ): Promise<CompletedLogin> {
    try {
      return await this.open(verified, caller, authentication);
    } catch (error) {
      await this.close(verified, systemActorFor(caller), error);
      throw error;
    }
  }

  /**
   * Verifies a password. Returns null after a wrong password, which counts as a failure.
   * A missing user, a disabled user and a user without a password take as long as a wrong password.
   * Counts the attempt before the password is verified. Close it with `completeLogin` or `pass`.
   */
  private async verifyPassword(
    claim: LoginClaim,
    password: string,
    actor: Actor,
    deadline: number,
  ): Promise<VerifiedLogin | null> {
    const { attempt, found } = await this.begin(claim, actor.ip, deadline);
    const user = found === null ? null : toUserResponse(found);
    const renewal = await this.releaseOnError(attempt, () => this.credentials.verify(found, password));
    if (user !== null && renewal !== null) return { user, attempt, renewal };
    // If this throws, the attempt stays open and counts as a failure later (L18).
    await this.fail(attempt, user, actor);
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
      const found = await this.logins.find(claim);
      const account = found?.user_id ?? missing;
      const attempt = await this.attempts.begin({ account, is_user: found !== null, address });
      if (attempt !== null) return { attempt, found };
      if (performance.now() + pause > deadline) throw new AppError('service.overloaded');
      await delay(pause);
    }
  }

  /** Lock order: users, login_attempts, sessions, events. */
  @Transactional()
  private async open(
    { user: { user_id, password_changed_at }, attempt, renewal }: VerifiedLogin,
    caller: Caller,
    authentication: Authentication,
  ): Promise<CompletedLogin> {
    const { ip } = caller;
    const service = systemActorFor(caller);
    const rejection = await this.logins.lockForLogin(user_id, password_changed_at, ip);
    if (rejection !== null) throw new AppError(rejection);
    await this.attempts.pass(attempt, ip === null ? null : addressKey(ip));
    await this.credentials.keep(user_id, renewal);
    if (renewal.must_change) {
      await this.logins.demandPasswordChange(user_id, eventBase(service, 'user.changed'));
    }
    // The user shows only the lockout of unknown addresses. A known address has a separate lockout.
    const user = await this.logins.noteLogin({ user_id, ip, unlocks: attempt.address === '' });
    const session_id = newId();
    const actor: Actor = { ...service, actor_type: 'user', user_id, session_id };
    const ended = await this.sessions.endSurplus(actor);
    const opened = await this.sessions.open({ session_id, user, caller, authentication });
    await this.events.record(actor, 'login.succeeded', { type: 'login', id: user_id, carrier_id: user.carrier_id });
    return { user: toUserResponse(user), ...opened, ended };
  }

  /** Closes the attempt of a login that was not completed. */
  private async close({ user, attempt }: VerifiedLogin, actor: Actor, error: unknown): Promise<void> {
    const code = error instanceof AppError ? error.code : null;
    if (code === 'auth.invalid_credentials') await this.fail(attempt, user, actor);
    else if (code === 'auth.ip_not_allowed') await this.rejectAddress(attempt, user, actor);
    else await this.attempts.release(attempt).catch(() => undefined);
  }

  /** Closes the attempt without a failure, and records an event: the password may be stolen. */
  @Transactional()
  private async rejectAddress(
    attempt: LoginAttempt,
    { user_id, carrier_id }: UserResponse,
    actor: Actor,
  ): Promise<void> {
    await this.attempts.pass(attempt);
    const changes: Changes = { reason: { after: 'auth.ip_not_allowed' } };
    await this.events.record(actor, 'login.failed', { type: 'login', id: user_id, carrier_id }, changes);
  }

  private async fail(attempt: LoginAttempt, user: UserResponse | null, actor: Actor): Promise<void> {
    // After the commit: a retried transaction must not count twice.
    if (await this.recordFailure(attempt, user, actor)) lockouts.inc();
  }

  /** Returns whether the failure locks the account. */
  @Transactional()
  private async recordFailure(attempt: LoginAttempt, user: UserResponse | null, actor: Actor): Promise<boolean> {
    const { user_id = null, carrier_id = null } = user ?? {};
    await this.logins.lock(user_id);
    const failed = await this.attempts.fail(attempt);
    const target = { type: 'login' as const, id: user_id, carrier_id };
    // An unknown login may be a password in the wrong field, so `account` is a keyed hash of it.
    const changes: Changes = user === null ? { login: { after: attempt.account } } : {};
    await this.events.record(actor, 'login.failed', target, changes);
    if (failed === null || failed.locked_until === null) return false;
    const lock: Changes = {
      failures: { after: failed.failures },
      locked_until: { after: failed.locked_until.toISOString() },
    };
    await this.events.record(actor, 'login.locked', target, { ...changes, ...lock });
    // The user shows only the lockout of unknown addresses. A known address has a separate lockout.
    if (attempt.address === '') await this.logins.noteLock(user_id, failed.locked_until);
    return true;
  }

  /** Releases the attempt if the work fails. */
  private async releaseOnError<T>(attempt: LoginAttempt, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.attempts.release(attempt).catch(() => undefined);
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
