import { Inject, Injectable } from '@nestjs/common';
import { RateLimiterCluster, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { ErrorCode } from '../../http/errors/error-codes';
import { limitReached } from '../../http/errors/limit-reached';
import type { RateLimit } from './rate-limits.service';
import { isWorker } from '../../platform/instance';
import { addressKey } from '../../platform/ip';
import { CONFIG, type Config } from '../../platform/config/config';

/** A request with the address of its client. Counting it sets `counted`. */
interface CountableRequest {
  ip: string;
  /** the portal that forwards the request of a user with another address */
  portal?: { ip: string; key: { user_id: string } };
  counted?: true;
}

const windowSeconds = 60;
/** Time for the primary process to respond to a worker. */
const primaryTimeoutMs = 500;

interface AddressLimit extends RateLimit {
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
  private readonly logins: AddressLimit;
  private readonly requests: AddressLimit;

  constructor(@Inject(CONFIG) config: Config) {
    this.logins = createLimit('login', config.LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE, 'auth.too_many_attempts');
    this.requests = createLimit('requests', config.REQUESTS_PER_ADDRESS_PER_MINUTE, 'request.rate_limited');
  }

  /** Counts a login or password reset. @throws auth.too_many_attempts */
  countLogin(request: CountableRequest): Promise<void> {
    return count(this.logins, request);
  }

  /**
   * Returns whether a login is within the limit of an address. Counts in this process only: asking
   * the primary process would add a delay that reveals the request.
   */
  async admitsLogin(ip: string): Promise<boolean> {
    const counted = this.logins.here.penalty(addressKey(ip));
    return this.logins.max === 0 || (await counted).consumedPoints <= this.logins.max;
  }

  /** Counts a request without a valid token. @throws request.rate_limited */
  countRequest(request: CountableRequest): Promise<void> {
    return count(this.requests, request);
  }
}

function createLimit(name: string, max: number, code: ErrorCode): AddressLimit {
  const options = { keyPrefix: name, points: Math.max(max, 1), duration: windowSeconds };
  return {
    ...{ name, max, window_seconds: windowSeconds, code },
    here: new RateLimiterMemory(options),
    shared: isWorker ? new RateLimiterCluster({ ...options, timeoutMs: primaryTimeoutMs }) : null,
  };
}

/**
 * Adds one hit. A limit of 0 means no limit.
 * @throws the code of the limit, with the headers of draft-ietf-httpapi-ratelimit-headers
 */
async function count(limit: AddressLimit, request: CountableRequest): Promise<void> {
  request.counted = true;
  if (limit.max === 0) return;
  const { portal } = request;
  // A portal must not use up the limits of an address for users outside its scope (L30).
  const key = portal ? `${portal.key.user_id} ${addressKey(portal.ip)}` : addressKey(request.ip);
  const rejection = await rejectionOf(limit, key);
  if (rejection === null) return;
  throw limitReached(limit, Math.max(1, Math.ceil(rejection.msBeforeNext / 1_000)), limit.code);
}

/** Adds one hit. Returns the state of the limit if the hit exceeds it, otherwise null. */
async function rejectionOf({ here, shared, max }: AddressLimit, key: string): Promise<RateLimiterRes | null> {
  const known = shared === null ? null : await here.get(key);
  if (known !== null && known.consumedPoints > max) return known;
  for (const limiter of shared === null ? [here] : [shared, here]) {
    try {
      await limiter.consume(key);
      return null;
    } catch (rejection) {
      // Later requests of the address need not ask the primary process.
      if (rejection instanceof RateLimiterRes && limiter !== here)
        await here.block(key, Math.ceil(rejection.msBeforeNext / 1_000));
      if (rejection instanceof RateLimiterRes) return rejection;
      if (limiter === here) throw rejection;
    }
  }
  return null;
}
