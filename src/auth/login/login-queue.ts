import { AppError } from '../../http/errors/app-error';
import { shareOf } from '../../platform/instance';
import { waitIn } from '../passwords/hash-queue';

interface AccountQueue {
  /** attempts that run */
  running: number;
  waiting: (() => void)[];
}

/** Limits of a `LoginQueue`. */
export interface LoginQueueLimits {
  /** attempts that run on all accounts together */
  runningMax: number;
  /** attempts that run on one account */
  runningPerAccountMax: number;
  /** attempts that wait for others on the same account, on all accounts together */
  waitingMax: number;
  /** attempts that wait on one account, so that no account takes the places of all others */
  waitingPerAccountMax: number;
  /** milliseconds after which a waiting attempt is rejected */
  patienceMs: number;
}

const waitingMax = shareOf(128);
/** Limits of all queues of this process. */
export const queueLimits: Omit<LoginQueueLimits, 'runningPerAccountMax'> = {
  // The waiting places of the hash queue and one running hash: the queue rejects further logins.
  runningMax: shareOf(64) + 1,
  waitingMax,
  waitingPerAccountMax: waitingMax / 2,
  patienceMs: 15_000,
};

/**
 * Limits how many login attempts run at the same time in this process.
 * Rejects further attempts before they cost a database statement. Attempts on one account wait for
 * each other, because the account lockout allows only a few at once.
 */
export class LoginQueue {
  private readonly accounts = new Map<string, AccountQueue>();
  private running = 0;
  private waiting = 0;

  constructor(private readonly limits: LoginQueueLimits) {}

  /** Returns whether the maximum number of attempts on all accounts together is running. */
  get isFull(): boolean {
    return this.running >= this.limits.runningMax;
  }

  /**
   * Runs an attempt on an account as soon as a place is free.
   * @param work gets its deadline, on the clock of `performance.now()`
   * @throws service.overloaded
   */
  async run<T>(account: string, work: (deadline: number) => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.limits.patienceMs;
    const queue = this.accounts.get(account) ?? { running: 0, waiting: [] };
    if (queue.running >= this.limits.runningPerAccountMax) await this.wait(queue);
    else if (this.isFull) throw new AppError('service.overloaded');
    else {
      this.accounts.set(account, queue);
      this.running++;
      queue.running++;
    }
    try {
      return await work(deadline);
    } finally {
      this.startNext(account, queue);
    }
  }

  private async wait(queue: AccountQueue): Promise<void> {
    const { waitingMax, waitingPerAccountMax, patienceMs } = this.limits;
    const hasPlace = this.waiting < waitingMax && queue.waiting.length < waitingPerAccountMax;
    if (!hasPlace) throw new AppError('service.overloaded');
    this.waiting++;
    await waitIn(queue.waiting, patienceMs).finally(() => this.waiting--);
  }

  /** Hands the place to the next attempt on the account, or frees it for any account. */
  private startNext(account: string, queue: AccountQueue): void {
    const next = queue.waiting.shift();
    if (next !== undefined) return next();
    this.running--;
    queue.running--;
    if (queue.running === 0) this.accounts.delete(account);
  }
}
