/** Returns JSON with sorted keys, so that equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  const sorted = (_name: string, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part;
  return JSON.stringify(value ?? null, sorted);
}
