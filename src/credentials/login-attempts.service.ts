import { Injectable, type OnModuleInit } from '@nestjs/common';
import { AppError } from '../common/errors/app-error';
import type { SqlFragment } from '../common/query/sql';
import { JobsService } from '../jobs/jobs.service';
import {
  type AttemptKey,
  type AttemptRequest,
  type AttemptState,
  type FailedAttempt,
  failuresEver,
  failuresMax,
  LoginAttemptsRepository,
} from './login-attempts.repository';

export type { AttemptKey, AttemptRequest, AttemptState, FailedAttempt } from './login-attempts.repository';

const pauseMaxSeconds = 3_600;
/** What is told of a lock that only a reset ends. */
const foreverSeconds = 86_400;
const removedAtOnce = 1_000;

/**
 * The limit of wrong passwords per account (contract §3, Throttling), whether the account exists
 * or not. An attempt has to be let in before its password is looked at, and has to be ended by one
 * of `passSql`, `pass`, `fail` and `release`; one that is not counts as a failure after 15 seconds.
 */
@Injectable()
export class LoginAttemptsService implements OnModuleInit {
  constructor(
    private readonly attempts: LoginAttemptsRepository,
    private readonly jobs: JobsService,
  ) {}

  onModuleInit(): void {
    this.jobs.every('41 3 * * *', 'forget-login-attempts', () => this.forgetOld());
  }

  /**
   * The statement that begins an attempt and answers an `AttemptState`, to be part of the one that
   * looks for the user. Locks the counter for a moment.
   */
  beginSql(request: AttemptRequest): SqlFragment {
    return this.attempts.beginSql(request);
  }

  /**
   * Whether an attempt was let in; if not, it is worth trying again in a moment. @throws
   * auth.too_many_attempts while the account is locked
   */
  isLetIn({ let_in, failures, locked_seconds }: AttemptState): boolean {
    if (let_in || locked_seconds === 0) return let_in;
    const isForever = failures >= failuresEver;
    const seconds = isForever ? foreverSeconds : locked_seconds;
    const pause = isForever ? foreverSeconds : Math.min(pauseMaxSeconds, 30 * 2 ** (failures - failuresMax));
    throw new AppError('auth.too_many_attempts', {
      detail: isForever
        ? 'Too many wrong passwords one after the other. Only a new password helps: have a link for it mailed to you.'
        : 'Too many wrong passwords one after the other. Wait for `Retry-After`, or have a link for a new password mailed to you.',
      retry_after_seconds: seconds,
      headers: { 'ratelimit-policy': `"account";q=1;w=${pause}`, ratelimit: `"account";r=0;t=${seconds}` },
    });
  }

  /**
   * The statement that ends an attempt with a right password: the counter starts again. To be part
   * of the one that notes the login.
   * @param known_address from which the user has logged in now, and has a counter for 30 days; null
   * = none
   * @param after a relation with one row when the login is noted; making it must lock the user
   */
  passSql(attempt: AttemptKey, known_address: string | null, after: SqlFragment): SqlFragment {
    return this.attempts.passSql(attempt, known_address, after);
  }

  /** Ends an attempt with a right password that is no login. */
  async pass(attempt: AttemptKey): Promise<void> {
    await this.attempts.pass(attempt);
  }

  /**
   * Ends an attempt with a wrong password. Lock the user before. Null when it had been counted
   * already.
   */
  fail(attempt: AttemptKey): Promise<FailedAttempt | null> {
    return this.attempts.fail(attempt);
  }

  /** Ends an attempt that came to nothing; it counts for nothing. */
  async release(attempt: AttemptKey): Promise<void> {
    await this.attempts.release(attempt);
  }

  /** Lifts all locks of a user, who has a new password. */
  async clear(user_id: string): Promise<void> {
    await this.attempts.clear(user_id);
  }

  /** Forgets users who are removed for good. */
  async remove(user_ids: string[]): Promise<void> {
    await this.attempts.remove(user_ids);
  }

  /** Removes what nobody used for 30 days, in batches; locks that only a reset ends stay. */
  async forgetOld(): Promise<void> {
    while ((await this.attempts.removeOld(removedAtOnce)) === removedAtOnce);
  }
}
