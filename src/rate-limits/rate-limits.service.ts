import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { AppError } from '../common/errors/app-error';
import type { ErrorCode } from '../common/errors/error-codes';
import { createKeyedHash, deriveKey } from '../common/random';
import { CONFIG, type Config } from '../config/config';
import { JobsService } from '../jobs/jobs.service';
import { RateLimitsRepository, type RateLimitWindow } from './rate-limits.repository';

/** A rate limit: `max` hits per subject in a window that begins with the first hit. */
export interface RateLimit {
  /** separates the counters of different limits */
  name: string;
  max: number;
  window_seconds: number;
}

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

  /** Adds a hit for each subject that is below the limit, and returns these subjects. */
  async take(limit: RateLimit, subjects: string[]): Promise<Set<string>> {
    const bySubject = new Map(subjects.map((subject) => [this.keyOf(limit, subject).toString('hex'), subject]));
    const keys = [...bySubject.keys()].map((key) => Buffer.from(key, 'hex'));
    const taken = await this.limits.take(keys, limit.max, limit.window_seconds);
    return new Set(taken.map((key) => bySubject.get(key.toString('hex')) as string));
  }

  /**
   * Adds a hit for a subject, which a rollback of the transaction removes.
   * @throws request.rate_limited if the limit is reached
   */
  async demand(limit: RateLimit, subject: string, detail: string): Promise<void> {
    if ((await this.take(limit, [subject])).size > 0) return;
    const window = await this.find(limit, subject);
    throw limitReached('request.rate_limited', limit, window?.seconds_left ?? 0, detail);
  }

  /**
   * Rejects a subject that has reached the limit.
   * @throws request.rate_limited
   */
  async assertBelow(limit: RateLimit, subject: string, detail: string): Promise<void> {
    const window = await this.find(limit, subject);
    if (window !== null && window.hits >= limit.max)
      throw limitReached('request.rate_limited', limit, window.seconds_left, detail);
  }

  /** Returns the open window of a subject, or null. */
  find(limit: RateLimit, subject: string): Promise<RateLimitWindow | null> {
    return this.limits.find(this.keyOf(limit, subject));
  }

  private async forgetEnded(): Promise<void> {
    while ((await this.limits.removeEnded(removedAtOnce)) === removedAtOnce);
  }

  /** Returns the key of the counter of a subject. */
  keyOf({ name }: RateLimit, subject: string): Buffer {
    return createKeyedHash(this.hashKey).update(`${name}\n${subject}`).digest();
  }
}

/**
 * Returns the error of a reached limit, with the headers of draft-ietf-httpapi-ratelimit-headers.
 */
export function limitReached(
  code: ErrorCode,
  { name, max, window_seconds }: RateLimit,
  seconds: number,
  detail?: string,
): AppError {
  return new AppError(code, {
    detail,
    retry_after_seconds: seconds,
    headers: { 'ratelimit-policy': `"${name}";q=${max};w=${window_seconds}`, ratelimit: `"${name}";r=0;t=${seconds}` },
  });
}
