import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type Actor, selfOf } from '../actor';
import { type Limit, limitReached } from '../../http/errors/limit-reached';
import { createKeyedHash, deriveKey } from '../../platform/random';
import { CONFIG, type Config } from '../../platform/config/config';
import { JobsService } from '../../platform/jobs/jobs.service';
import { RateLimitsRepository, type RateLimitWindow } from './rate-limits.repository';

/**
 * A rate limit: `max` hits per subject in a window that begins with the first hit. The name
 * separates the counters of different limits.
 */
export type RateLimit = Limit & Required<Pick<Limit, 'window_seconds'>>;

/** Limits the recorded changes that users make to themselves: 60 of each kind per hour (B34). */
export const selfChangeLimit: RateLimit = {
  name: 'self-changes',
  max: 60,
  window_seconds: 3_600,
  detail: 'Too many changes to your own account within an hour.',
};

const removedAtOnce = 1_000;

/**
 * Counts hits on rate limits that all instances share. A hit is part of the current transaction, if
 * there is one. `RateLimiterPostgres` cannot do this: it uses a separate connection and the clock
 * of the instance.
 */
@Injectable()
export class RateLimitsService implements OnModuleInit {
  private readonly hashKey: Buffer;

  constructor(
    private readonly limits: RateLimitsRepository,
    private readonly jobs: JobsService,
    @Inject(CONFIG) config: Config,
  ) {
    this.hashKey = deriveKey(config.APP_SECRET, 'rate-limits');
  }

  onModuleInit(): void {
    this.jobs.every('23 * * * *', 'forget-rate-limits', () => this.forgetEnded());
  }

  /** Adds hits, even beyond the limit, and returns the window, new hits included. */
  add(limit: RateLimit, subject: string, hits: number): Promise<RateLimitWindow> {
    return this.limits.add(this.keyOf(limit, subject), hits, limit.window_seconds);
  }

  /**
   * Adds a hit for each subject that is below the limit. Returns the other subjects with the
   * seconds that they have to wait.
   */
  async takeOrWaitAll(limit: RateLimit, subjects: string[]): Promise<Map<string, number>> {
    const keys = new Map(subjects.map((subject) => [this.keyOf(limit, subject).toString('hex'), subject]));
    const buffers = () => [...keys.keys()].map((key) => Buffer.from(key, 'hex'));
    for (const key of await this.limits.take(buffers(), limit.max, limit.window_seconds))
      keys.delete(key.toString('hex'));
    if (keys.size === 0) return new Map();
    const windows = await this.limits.find(buffers());
    const seconds = new Map(windows.map(({ key, seconds_left }) => [key.toString('hex'), seconds_left]));
    return new Map([...keys].map(([key, subject]) => [subject, seconds.get(key) ?? 0]));
  }

  /** Adds a hit and returns null, or returns the seconds to wait if the limit is reached. */
  async takeOrWait(limit: RateLimit, subject: string): Promise<number | null> {
    return (await this.takeOrWaitAll(limit, [subject])).get(subject) ?? null;
  }

  /**
   * Adds a hit for a subject. A rollback of the transaction removes the hit.
   * @param subject null = no limit
   * @throws request.rate_limited if the limit is reached
   */
  async demand(limit: RateLimit, subject: string | null): Promise<void> {
    const seconds = subject === null ? null : await this.takeOrWait(limit, subject);
    if (seconds !== null) throw limitReached(limit, seconds);
  }

  /**
   * Rejects a subject that has reached the limit.
   * @param subject null = no limit
   * @throws request.rate_limited
   */
  async assertBelow(limit: RateLimit, subject: string | null): Promise<void> {
    const window = subject === null ? null : await this.find(limit, subject);
    if (window !== null && window.hits >= limit.max) throw limitReached(limit, window.seconds_left);
  }

  /** Returns the open window of a subject, or null. */
  async find(limit: RateLimit, subject: string): Promise<RateLimitWindow | null> {
    const [window] = await this.limits.find([this.keyOf(limit, subject)]);
    return window ?? null;
  }

  private async forgetEnded(): Promise<void> {
    while ((await this.limits.removeEnded(removedAtOnce)) === removedAtOnce);
  }

  /** Returns the key of the counter of a subject. */
  private keyOf({ name }: RateLimit, subject: string): Buffer {
    return createKeyedHash(this.hashKey).update(`${name}\n${subject}`).digest();
  }
}

/**
 * Returns the counter of a change, or null if the actor does not change their own user. Each kind
 * has its own counter, so that a thief with a session cannot keep the owner from a new password.
 */
export function selfChangeOf(actor: Actor, user_id: string | null, kind: string): string | null {
  return user_id !== null && selfOf(actor) === user_id ? `${kind} ${user_id}` : null;
}
