/** Parses a time. Returns null for an invalid time such as `2026-99-99`. */
export function timeOf(text: string): Date | null {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? null : time;
}
