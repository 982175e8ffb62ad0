import { monotonicMs } from '../../platform/clock';
import { inSpan } from '../../platform/tracing/spans';
import { AppError } from '../../http/errors/app-error';
import { limitReached } from '../../http/errors/limit-reached';
import { hashesWaiting, hashWaits } from './credentials.metrics';

const tooManyPasswords = 'Too many new passwords at the same time. Wait until an earlier request is done.';

/** Limits of a `HashQueue`. */
export interface HashQueueLimits {
  /** hashes computed at the same time */
  runningMax: number;
  /** waiting places reserved for logins */
  loginsWaitingMax: number;
  /** logins that run in a row while other hashes wait */
  loginsInARowMax: number;
  /** new passwords of all actors together, waiting or running */
  newPasswordsMax: number;
  /** milliseconds that a login or a new password waits at most */
  patienceMs: number;
  /** fair share: new passwords of one actor, waiting or running */
  newPasswordsPerActorMax: number;
}

/**
 * Limits how many password hashes are computed at the same time, and selects the next one.
 * Logins have priority and their own waiting places, so that new passwords never cause a login to
 * be rejected (L21). After a few logins in a row, one other hash runs.
 */
export class HashQueue {
  private readonly logins: (() => void)[] = [];
  private readonly others: (() => void)[] = [];
  private readonly shares = new Map<string, number>();
  private running = 0;
  private newPasswords = 0;
  private loginsInARow = 0;
  private background: Promise<unknown> = Promise.resolve();

  constructor(private readonly limits: HashQueueLimits) {}

  /**
   * Runs a hash of a login. @throws service.overloaded if all waiting places are taken, or none
   * runs in time
   */
  async runLogin<T>(work: () => Promise<T>): Promise<T> {
    if (this.logins.length >= this.limits.loginsWaitingMax) throw new AppError('service.overloaded');
    return this.run(this.logins, work, this.limits.patienceMs);
  }

  /**
   * Runs the hash of a new password.
   * @param actor identifies the actor, who has a limited share of the places
   * @throws request.rate_limited if the share of the actor is used up
   * @throws service.overloaded if all places are taken
   */
  async runNewPassword<T>(actor: string, work: () => Promise<T>): Promise<T> {
    const share = this.shares.get(actor) ?? 0;
    if (share >= this.limits.newPasswordsPerActorMax)
      throw limitReached({ name: 'new-passwords', max: share, detail: tooManyPasswords }, 1);
    if (this.newPasswords >= this.limits.newPasswordsMax) throw new AppError('service.overloaded');
    this.count(actor, 1);
    try {
      return await this.run(this.others, work, this.limits.patienceMs);
    } finally {
      this.count(actor, -1);
    }
  }

  /**
   * Runs a hash that may wait without limit. Runs one background hash at a time, so that many of
   * them do not delay new passwords.
   */
  runInBackground<T>(work: () => Promise<T>): Promise<T> {
    const done = this.background.then(() => this.run(this.others, work));
    this.background = done.catch(() => undefined);
    return done;
  }

  private async run<T>(queue: (() => void)[], work: () => Promise<T>, patienceMs?: number): Promise<T> {
    const kind = queue === this.logins ? 'login' : 'other';
    const arrivedAt = monotonicMs();
    if (this.running < this.limits.runningMax) this.running++;
    else {
      hashesWaiting.inc({ kind });
      await waitIn(queue, patienceMs).finally(() => hashesWaiting.dec({ kind }));
    }
    hashWaits.observe({ kind }, (monotonicMs() - arrivedAt) / 1_000);
    try {
      return await inSpan('hash password', { attributes: { 'hash.kind': kind } }, work);
    } finally {
      const next = this.takeNext();
      if (next === undefined) this.running--;
      else next();
    }
  }

  private takeNext(): (() => void) | undefined {
    const isLoginNext = this.others.length === 0 || this.loginsInARow < this.limits.loginsInARowMax;
    if (this.logins.length === 0 || !isLoginNext) {
      this.loginsInARow = 0;
      return this.others.shift();
    }
    this.loginsInARow = this.others.length === 0 ? 0 : this.loginsInARow + 1;
    return this.logins.shift();
  }

  private count(actor: string, change: 1 | -1): void {
    const share = (this.shares.get(actor) ?? 0) + change;
    if (share === 0) this.shares.delete(actor);
    else this.shares.set(actor, share);
    this.newPasswords += change;
  }
}

/**
 * Waits in a queue. Gives up before the client would be disconnected without a response.
 * @throws service.overloaded
 */
export function waitIn(queue: (() => void)[], patienceMs: number | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const admit = () => {
      clearTimeout(late);
      resolve();
    };
    const giveUp = () => {
      queue.splice(queue.indexOf(admit), 1);
      reject(new AppError('service.overloaded'));
    };
    const late = patienceMs === undefined ? undefined : setTimeout(giveUp, patienceMs);
    queue.push(admit);
  });
}
