/** Returns the time that a text states, or null if it states none, such as `2026-99-99`. */
export function timeOf(text: string): Date | null {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? null : time;
}
