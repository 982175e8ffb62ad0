/**
 * The current time of this process. Stored expiries are compared in SQL with `now()`, never with
 * this.
 */
export function currentTime(): Date {
  return new Date();
}

let textOf = 0;
let text = '';

/**
 * The current time as RFC 3339 in UTC, made once for each millisecond: for what happens many times
 * in one.
 */
export function currentTimeText(): string {
  const now = Date.now();
  if (now !== textOf) {
    textOf = now;
    text = new Date(now).toISOString();
  }
  return text;
}

/**
 * Milliseconds on a clock that never jumps, of this process alone: for how long something has been,
 * never for when.
 */
export function monotonicMs(): number {
  return performance.now();
}

/**
 * Whole seconds from now until a time in seconds since 1970, as tokens have it; 0 when it is over.
 */
export function secondsUntil(time: number): number {
  return Math.max(0, Math.floor(time - Date.now() / 1_000));
}

/** Largest expected difference between the clocks of two instances, in seconds. */
export const clockToleranceSeconds = 5;
