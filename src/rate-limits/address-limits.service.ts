import { Inject, Injectable } from '@nestjs/common';
import { RateLimiterCluster, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { AppError } from '../common/errors/app-error';
import type { ErrorCode } from '../common/errors/error-codes';
import { isWorker } from '../common/instance';
import { addressKey } from '../common/ip';
import { CONFIG, type Config } from '../config/config';

const windowSeconds = 60;
/** Time for the primary process to respond to a worker. */
const primaryTimeoutMs = 500;

interface Limit {
  name: string;
  points: number;
  code: ErrorCode;
  /** counts in this process */
  here: RateLimiterMemory;
  /** counts in the primary process, for all workers of the instance */
  shared: RateLimiterCluster | null;
}

/**
 * Limits requests per address, in the memory of this instance. Valid tokens are not limited.
 * Workers count in the primary process. While it does not respond, each worker counts alone.
 */
@Injectable()
export class AddressLimitsService {
  private readonly logins: Limit;
  private readonly requests: Limit;

  constructor(@Inject(CONFIG) config: Config) {
    this.logins = createLimit('login', config.LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE, 'auth.too_many_attempts');
    this.requests = createLimit('requests', config.REQUESTS_PER_ADDRESS_PER_MINUTE, 'request.rate_limited');
  }

  /** Counts a login or password reset. @throws auth.too_many_attempts */
  countLogin(ip: string): Promise<void> {
    return count(this.logins, ip);
  }

  /**
   * Runs the verification of a token, and counts it if it fails.
   * @throws request.rate_limited instead of the error once the limit is reached
   */
  async countFailure<Result>(ip: string | null, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof AppError) await this.countRequest(ip ?? '');
      throw error;
    }
  }

  /** Counts a request without a valid token. @throws request.rate_limited */
  countRequest(ip: string): Promise<void> {
    return count(this.requests, ip);
  }
}

function createLimit(name: string, points: number, code: ErrorCode): Limit {
  const options = { keyPrefix: name, points: Math.max(points, 1), duration: windowSeconds };
  return {
    name,
    points,
    code,
    here: new RateLimiterMemory(options),
    shared: isWorker ? new RateLimiterCluster({ ...options, timeoutMs: primaryTimeoutMs }) : null,
  };
}

/**
 * Adds one hit. A limit of 0 means no limit.
 * @throws the code of the limit, with the headers of draft-ietf-httpapi-ratelimit-headers
 */
async function count(limit: Limit, ip: string): Promise<void> {
  const { name, points, code } = limit;
  if (points === 0) return;
  const rejection = await rejectionOf(limit, addressKey(ip));
  if (rejection === null) return;
  const seconds = Math.max(1, Math.ceil(rejection.msBeforeNext / 1_000));
  const headers = {
    'ratelimit-policy': `"${name}";q=${points};w=${windowSeconds}`,
    ratelimit: `"${name}";r=0;t=${seconds}`,
  };
  throw new AppError(code, { retry_after_seconds: seconds, headers });
}

/** Adds one hit. Returns the state of the limit if the hit exceeds it, otherwise null. */
async function rejectionOf({ here, shared }: Limit, key: string): Promise<RateLimiterRes | null> {
  for (const limiter of shared === null ? [here] : [shared, here]) {
    try {
      await limiter.consume(key);
      return null;
    } catch (rejection) {
      if (rejection instanceof RateLimiterRes) return rejection;
      if (limiter === here) throw rejection;
    }
  }
  return null;
}
