/**
 * JSON with the fields of objects in one order, so that the same value always gives the same text.
 */
export function canonicalJson(value: unknown): string {
  const sorted = (_name: string, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part;
  return JSON.stringify(value ?? null, sorted);
}
