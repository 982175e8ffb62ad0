import { AppError } from './app-error';
import type { ErrorCode } from './error-codes';

/** A limit on requests in a time window, or on work that runs at the same time. */
export interface Limit {
  /** name in the rate-limit headers */
  name: string;
  max: number;
  /** length of the window; absent for work that runs at the same time */
  window_seconds?: number;
  /** states what is limited and what to do, for human readers */
  detail?: string;
}

/**
 * Creates the 429 error of a limit, with its headers (draft-ietf-httpapi-ratelimit-headers).
 * @param seconds time to wait
 */
export function limitReached(
  { name, max, window_seconds, detail }: Limit,
  seconds: number,
  code: ErrorCode = 'request.rate_limited',
): AppError {
  const unit = window_seconds === undefined ? 'qu="concurrent-requests"' : `w=${window_seconds}`;
  return new AppError(code, {
    detail,
    retry_after_seconds: seconds,
    headers: { 'ratelimit-policy': `"${name}";q=${max};${unit}`, ratelimit: `"${name}";r=0;t=${seconds}` },
  });
}
