import { mintToken } from './random';

const tokens = 1_000;
/** χ² with 63 degrees of freedom exceeds this value with a probability of 10⁻⁷. */
const chiSquareMax = 140.1;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Returns Pearson's χ² of the symbols of texts against a uniform distribution. */
function chiSquare(texts: string[]): number {
  const counts = new Map([...alphabet].map((symbol) => [symbol, 0]));
  for (const symbol of texts.join('')) counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
  const expected = texts.join('').length / alphabet.length;
  return [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

it('mints tokens of 43 characters without a repetition, a shared prefix or a bias (R8)', () => {
  const minted = Array.from({ length: tokens }, mintToken);
  expect(minted.filter((token) => !/^[A-Za-z0-9_-]{43}$/.test(token))).toEqual([]);
  expect(new Set(minted.map((token) => token.slice(0, 8))).size).toBe(tokens);
  expect(new Set(minted.map((token) => token.slice(-8))).size).toBe(tokens);
  // The last of 43 characters holds only four bits.
  expect(chiSquare(minted.map((token) => token.slice(0, 42)))).toBeLessThan(chiSquareMax);
  // The statistic rejects texts with less randomness: UUIDs as bytes.
  const ids = Array.from({ length: tokens }, () => Buffer.from(crypto.randomUUID().replaceAll('-', ''), 'hex'));
  expect(chiSquare(ids.map((id) => id.toString('base64url').slice(0, 21)))).toBeGreaterThan(chiSquareMax);
});
