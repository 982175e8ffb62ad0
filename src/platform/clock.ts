/**
 * Returns the current time of this process.
 * Compare stored expiries in SQL with `now()` instead.
 */
export function currentTime(): Date {
  return new Date();
}

let textOf = 0;
let text = '';

/** Returns the current time as RFC 3339 in UTC. Cached per millisecond, for frequent callers. */
export function currentTimeText(): string {
  const now = Date.now();
  if (now !== textOf) {
    textOf = now;
    text = new Date(now).toISOString();
  }
  return text;
}

/** Returns milliseconds on a monotonic clock of this process, to measure durations. */
export function monotonicMs(): number {
  return performance.now();
}

/** Returns a time in whole seconds since 1970, as in the claims of a JWT. */
export function secondsOf(time: Date): number {
  return Math.floor(time.getTime() / 1_000);
}

/** Returns the whole seconds until a time in seconds since 1970, at least 0. */
export function secondsUntil(time: number): number {
  return Math.max(0, Math.floor(time - Date.now() / 1_000));
}

/** Largest expected difference between the clocks of two instances, in seconds. */
export const clockToleranceSeconds = 5;
