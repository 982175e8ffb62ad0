import { AppError } from './app-error';

/** A limit on work that runs at the same time. */
export interface ConcurrencyLimit {
  /** name in the rate-limit headers */
  name: string;
  max: number;
  retry_after_seconds: number;
  /** says what is limited and what to do, for people */
  detail: string;
}

/** Creates the 429 error of a limit, with its headers (draft-ietf-httpapi-ratelimit-headers). */
export function tooManyAtOnce({ name, max, retry_after_seconds, detail }: ConcurrencyLimit): AppError {
  return new AppError('request.rate_limited', {
    detail,
    retry_after_seconds,
    headers: {
      'ratelimit-policy': `"${name}";q=${max};qu="concurrent-requests"`,
      ratelimit: `"${name}";r=0;t=${retry_after_seconds}`,
    },
  });
}
