import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { monotonicMs } from '../../../platform/clock';
import { within } from '../../../platform/within';

/** Limits of `PasswordStrength`, in milliseconds. */
export interface StrengthLimits {
  /** time of a check, after which the thread is terminated */
  checkMs: number;
  /** time that a password waits for the thread to load */
  loadMs: number;
  /** time that a password waits for earlier passwords */
  patienceMs: number;
  /** passwords that wait or are being checked */
  waitingMax: number;
}

/** Limits of the service. */
export const strengthLimits: StrengthLimits = { checkMs: 1_000, loadMs: 10_000, patienceMs: 2_000, waitingMax: 64 };

/** Result of a check. */
export interface Strength {
  /** whether an attacker needs more than 10^8 guesses (score 3 or 4 of zxcvbn) */
  isStrong: boolean;
  /** what makes the password easy to guess, as stable keys such as `similar_to_common` */
  hints: string[];
}

/** What the thread returns. */
interface Estimate {
  score: number;
  feedback: (string | null)[];
}

/** The thread, with whether it loaded its dictionaries. */
interface Thread {
  worker: Worker;
  loaded: Promise<boolean>;
}

const program = join(__dirname, 'password-strength.worker.js');
/** Number of characters that are checked. The time grows with the square of the length. */
const checkedMax = 64;
/** The dictionaries take 60 MB. A check that needs far more memory ends only the thread. */
const heapMaxMb = 256;
const strongScore = 3;

/**
 * Estimates in a thread how many guesses a password resists (zxcvbn).
 * Each process has one thread, because passwords should not travel between processes. The first
 * check starts it. The thread checks one password after the other, so it never uses more than one
 * core.
 */
export class PasswordStrength implements OnApplicationShutdown {
  private readonly logger = new Logger(PasswordStrength.name);
  private thread: Thread | null = null;
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;
  private isClosed = false;

  constructor(private readonly limits: StrengthLimits) {}

  /**
   * Checks the first 64 characters of a password. Returns null if the check takes too long or the
   * thread fails: a busy machine must not reject passwords.
   * @param words words that the attacker knows about the user
   */
  async check(password: string, words: string[]): Promise<Strength | null> {
    if (this.waiting >= this.limits.waitingMax) return null;
    this.waiting++;
    const startBy = monotonicMs() + this.limits.patienceMs;
    const estimated = this.last.then(() => (monotonicMs() > startBy ? null : this.estimate(password, words)));
    this.last = estimated.catch(() => null);
    try {
      const estimate = await estimated;
      return estimate === null ? null : strengthOf(estimate);
    } finally {
      this.waiting--;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    this.isClosed = true;
    await this.thread?.worker.terminate();
  }

  private async estimate(password: string, words: string[]): Promise<Estimate | null> {
    if (this.isClosed) return null;
    this.thread ??= this.start();
    const { worker, loaded } = this.thread;
    if (!(await within(this.limits.loadMs, loaded, () => false))) return null;
    const answered = once(worker, 'message').then(([estimate]) => estimate as Estimate);
    worker.postMessage({ password: [...password].slice(0, checkedMax).join(''), words });
    const estimate = await within(this.limits.checkMs, answered, () => null).catch(() => null);
    if (estimate === null) {
      // The next check starts a new thread.
      this.thread = null;
      void worker.terminate();
    }
    return estimate;
  }

  private start(): Thread {
    const worker = new Worker(program, { resourceLimits: { maxOldGenerationSizeMb: heapMaxMb } });
    worker.unref();
    // Without a listener, an error of the thread would end the process. Its message is not logged,
    // because it may quote the password.
    worker.on('error', (error: NodeJS.ErrnoException) =>
      this.logger.error(`The thread that checks passwords failed: ${error.code ?? error.name}`),
    );
    worker.once('exit', () => {
      if (this.thread?.worker === worker) this.thread = null;
    });
    const ready = once(worker, 'message');
    return {
      worker,
      loaded: ready.then(
        () => true,
        () => false,
      ),
    };
  }
}

function strengthOf({ score, feedback }: Estimate): Strength {
  const hints = feedback.filter((key) => key !== null).map(snakeCase);
  return { isStrong: score >= strongScore, hints: [...new Set(hints)] };
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
