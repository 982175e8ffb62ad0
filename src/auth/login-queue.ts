import { AppError } from '../common/errors/app-error';

interface Line {
  /** attempts under way */
  running: number;
  waiting: (() => void)[];
}

/** Limits of a `LoginQueue`. */
export interface LoginQueueLimits {
  /** attempts under way on all accounts together */
  runningMax: number;
  /** attempts under way on one account */
  runningPerAccountMax: number;
  /** attempts that wait for others on the same account, on all accounts together */
  waitingMax: number;
  /** attempts that wait on one account: it must not take the waiting places of all others */
  waitingPerAccountMax: number;
  /** longest wait in milliseconds */
  patienceMs: number;
}

/**
 * Limits in this process how many passwords are tried at the same time. Rejects the surplus before
 * it costs a statement. Attempts on one account wait for each other, since the account lockout
 * allows only a few at once.
 */
export class LoginQueue {
  private readonly lines = new Map<string, Line>();
  private running = 0;
  private waiting = 0;

  constructor(private readonly limits: LoginQueueLimits) {}

  /** Returns whether a new attempt would be rejected, whichever account it is for. */
  get isFull(): boolean {
    return this.running >= this.limits.runningMax;
  }

  /**
   * Runs an attempt on an account as soon as there is a place for it.
   * @param work gets the end of its patience, on the clock of `performance.now()`
   * @throws service.overloaded
   */
  async run<T>(account: string, work: (deadline: number) => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.limits.patienceMs;
    const line = this.lines.get(account) ?? { running: 0, waiting: [] };
    if (line.running >= this.limits.runningPerAccountMax) await this.wait(line);
    else if (this.isFull) throw new AppError('service.overloaded');
    else {
      this.lines.set(account, line);
      this.running++;
      line.running++;
    }
    try {
      return await work(deadline);
    } finally {
      this.startNext(account, line);
    }
  }

  private async wait(line: Line): Promise<void> {
    const { waitingMax, waitingPerAccountMax, patienceMs } = this.limits;
    const hasPlace = this.waiting < waitingMax && line.waiting.length < waitingPerAccountMax;
    if (!hasPlace) throw new AppError('service.overloaded');
    this.waiting++;
    try {
      await new Promise<void>((resolve, reject) => {
        const admit = () => {
          clearTimeout(late);
          resolve();
        };
        const late = setTimeout(() => {
          line.waiting.splice(line.waiting.indexOf(admit), 1);
          reject(new AppError('service.overloaded'));
        }, patienceMs);
        line.waiting.push(admit);
      });
    } finally {
      this.waiting--;
    }
  }

  /** Hands the place to the next attempt on the account, or frees it for any account. */
  private startNext(account: string, line: Line): void {
    const next = line.waiting.shift();
    if (next !== undefined) return next();
    this.running--;
    line.running--;
    if (line.running === 0) this.lines.delete(account);
  }
}
