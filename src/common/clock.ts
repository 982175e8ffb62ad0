/** The current time of this process. Stored expiries are compared in SQL with `now()`, never with this. */
export function currentTime(): Date {
  return new Date();
}

/** Milliseconds on a clock that never jumps, of this process alone: for how long something has been, never for when. */
export function monotonicMs(): number {
  return performance.now();
}
