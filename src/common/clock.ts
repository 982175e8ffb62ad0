/** The current time of this process. Stored expiries are compared in SQL with `now()`, never with this. */
export function currentTime(): Date {
  return new Date();
}
