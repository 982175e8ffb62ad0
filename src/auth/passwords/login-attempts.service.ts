import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { ChangesOf } from '../../audit/event-catalogue';
import type { AppError } from '../../http/errors/app-error';
import { limitReached } from '../../http/errors/limit-reached';
import { newId } from '../../platform/random';
import { CONFIG, type Config } from '../../platform/config/config';
import { JobsService } from '../../platform/jobs/jobs.service';
import {
  type AttemptRequest,
  type AttemptState,
  codesOf,
  type Lock,
  type FailedAttempt,
  type LoginAttempt,
  type LoginCounter,
  LoginAttemptsRepository,
} from './login-attempts.repository';

/** `Retry-After` of a permanent lock. No other lock lasts longer. */
const foreverSeconds = 86_400;
const batchMax = 1_000;

/**
 * Account lockout: limits the wrong passwords of an account, whether the account exists or not, and
 * the wrong codes of a user.
 * Begin an attempt before verifying a password; `pass`, `fail`, `release` and `giveBack` close it.
 * An attempt that stays open counts as a failure after 15 seconds.
 */
@Injectable()
export class LoginAttemptsService implements OnModuleInit {
  constructor(
    private readonly attempts: LoginAttemptsRepository,
    private readonly jobs: JobsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.jobs.every('41 3 * * *', 'forget-login-attempts', () => this.forgetOld());
  }

  /**
   * Begins an attempt. Returns null if other attempts on the account must close first: try again
   * after a moment.
   * @throws auth.too_many_attempts while the account is locked
   */
  async begin(request: AttemptRequest): Promise<LoginAttempt | null> {
    const state = await this.attempts.begin(newId(), request);
    if (state.admitted) return state;
    if (state.locked_seconds === 0) return null;
    throw lockedError(state, this.config, passwordLock);
  }

  /**
   * Begins an attempt to enter a code. All challenges and factors of the user, and
   * reauthentication, share a counter (M3). Lock the user first, and close the attempt in the same
   * transaction.
   * @param address address of the client in the form of `addressKey`; empty if it is unknown
   * @throws auth.too_many_attempts while codes are locked
   */
  async beginCode(user_id: string, address: string): Promise<LoginAttempt> {
    const state = await this.attempts.begin(newId(), { account: codesOf(user_id), user_id, address });
    if (!state.admitted) throw lockedError(state, this.config, codeLock);
    return state;
  }

  /**
   * Resets a counter after the right password or code, and closes its attempt. Lock the user first
   * if it is a login.
   * @param known_address address of a login, which gets its own counter for 30 days
   * @returns whether the address is new: the user has logged in before, but not from this address
   * within the last 30 days
   */
  pass(counter: LoginCounter, known_address: string | null = null): Promise<boolean> {
    return this.attempts.pass(counter, known_address);
  }

  /**
   * Makes the address of a login without a password known for 30 days. Lock the user first.
   * @returns whether the address is new, as `pass` does
   */
  know(user_id: string, address: string): Promise<boolean> {
    return this.attempts.know(user_id, address);
  }

  /**
   * Closes an attempt with a wrong password or code. Lock the user first.
   * Returns null if the attempt took too long and was counted already.
   */
  fail(attempt: LoginAttempt): Promise<FailedAttempt | null> {
    return this.attempts.fail(attempt);
  }

  /** Closes an attempt without counting it. */
  async release(attempt: LoginAttempt): Promise<void> {
    await this.attempts.release(attempt);
  }

  /**
   * Closes an attempt that a fault of the service ended, without counting it. Never throws: retries
   * each second until the database responds (L23). Only the attempts of a killed process count.
   */
  async giveBack(attempt: LoginAttempt): Promise<void> {
    await this.attempts.release(attempt).catch(() => {
      void delay(1_000, attempt, { ref: false }).then((late) => this.giveBack(late));
    });
  }

  /** Resets the password counters of a user, at all addresses. Wrong codes still count (M8). */
  async clear(user_id: string): Promise<void> {
    await this.attempts.clear([user_id]);
  }

  /**
   * Resets the code counters of users, at all addresses: after a reset of their factors, or when an
   * administrator unlocks them.
   */
  async clearCodes(user_ids: string[]): Promise<void> {
    await this.attempts.clear(user_ids.map(codesOf));
  }

  /** Unlocks the codes of a user at an address, after a second factor that is not a code. */
  async clearCodesAt(user_id: string, address: string): Promise<void> {
    await this.attempts.clearAt({ account: codesOf(user_id), user_id, address });
  }

  listLocks(user_id: string): Promise<Lock[]> {
    return this.attempts.listLocks(user_id);
  }

  async remove(user_ids: string[]): Promise<void> {
    await this.attempts.remove([...user_ids, ...user_ids.map(codesOf)]);
  }

  /** Deletes counters that were not used for 30 days, in batches. Keeps permanent locks. */
  async forgetOld(): Promise<void> {
    while ((await this.attempts.removeOld(batchMax)) === batchMax);
  }
}

/** Returns the details of a lockout for the event of a failure. Empty if no lockout began. */
export function lockChangesOf(failed: FailedAttempt | null): ChangesOf<'login.locked' | 'login.second_factor_failed'> {
  if (failed === null || failed.locked_until === null) return {};
  return { failures: { after: failed.failures }, locked_until: { after: failed.locked_until.toISOString() } };
}

/** Texts of a lockout. */
interface LockTexts {
  what: string;
  forever: string;
  otherwise: string;
}

const passwordLock: LockTexts = {
  what: 'Too many wrong passwords in a row.',
  forever: 'The account is locked until its password is reset. Request a reset link.',
  otherwise: 'Wait for the time in `Retry-After`, or request a reset link.',
};
const codeLock: LockTexts = {
  what: 'Too many wrong codes in a row.',
  forever: 'Codes are locked. Use a passkey or a recovery code, or ask an administrator to unlock the user.',
  otherwise: 'Wait for the time in `Retry-After`, or use a passkey or a recovery code.',
};

function lockedError({ failures, locked_seconds }: AttemptState, config: Config, texts: LockTexts): AppError {
  const isForever = locked_seconds > foreverSeconds;
  const seconds = isForever ? foreverSeconds : locked_seconds;
  const doublings = Math.max(0, failures - config.LOCKOUT_THRESHOLD);
  const lock = Math.min(config.LOCKOUT_MAX_SECONDS, config.LOCKOUT_FIRST_SECONDS * 2 ** doublings);
  const window = isForever ? foreverSeconds : lock;
  const detail = `${texts.what} ${isForever ? texts.forever : texts.otherwise}`;
  return limitReached({ name: 'account', max: 1, window_seconds: window, detail }, seconds, 'auth.too_many_attempts');
}
