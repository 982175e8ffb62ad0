import { createHash } from 'node:crypto';
import { createFilter, filterHas, isFilterIntact } from '../../src/credentials/policy/breached-filter';

const hashesOf = (label: string, count: number) =>
  Array.from({ length: count }, (_, index) => createHash('sha1').update(`${label} ${index}`).digest());
/** Highest allowed rate of false positives. */
const rateMax = 1 / 10_000;
const others = hashesOf('other', 200_000);

describe('a filter of breached passwords', () => {
  // 24 entries fill the smallest filter. Of 2,000,000,000 entries, 2,000 have one prefix.
  it.each([1, 24, 2_000])('finds each of %d entries, and at most 1 in 10,000 others', (count) => {
    const entries = hashesOf('entry', count);
    const filter = createFilter(Buffer.concat(entries));
    expect(entries.filter((hash) => !filterHas(filter, hash))).toEqual([]);
    const found = others.filter((hash) => filterHas(filter, hash)).length;
    expect(found / others.length).toBeLessThanOrEqual(rateMax);
    expect(filter.length).toBeLessThanOrEqual(count * 2.5 + 68);
  });

  it('finds nothing if it is empty', () => {
    const filter = createFilter(Buffer.alloc(0));
    expect(filter).toHaveLength(0);
    expect(others.some((hash) => filterHas(filter, hash))).toBe(false);
  });

  it('notices every changed byte', () => {
    const filter = createFilter(Buffer.concat(hashesOf('entry', 3)));
    expect(isFilterIntact(filter)).toBe(true);
    for (let at = 0; at < filter.length; at++) {
      const damaged = Buffer.from(filter);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      expect([at, isFilterIntact(damaged)]).toEqual([at, false]);
    }
  });
});
