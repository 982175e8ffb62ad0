import { setTimeout as delay } from 'node:timers/promises';
import { paced } from './paced';

describe('texts for a reader', () => {
  /**
   * Reads texts of a size with a pause before each. Returns how many were read before the export
   * gave up, or null.
   */
  async function take(
    count: number,
    bytes: number,
    pauseMs: number,
    patienceMs = 100,
    sourceMs = 0,
  ): Promise<number | null> {
    let [taken, given] = [0, null as number | null];
    const source = (async function* () {
      for (let index = 0; index < count; index++) {
        await delay(sourceMs);
        yield 'x'.repeat(bytes);
      }
    })();
    for await (const text of paced(source, { patienceMs, bytesPerSecond: 1_000 }, () => (given ??= taken))) {
      taken += text.length > 0 ? 1 : 0;
      await delay(pauseMs);
      if (given !== null) break;
    }
    return given;
  }

  it('disconnects a reader that stalls', async () => {
    expect(await take(2, 1_000, 400)).toBe(1);
  });

  it('disconnects a reader that trickles, although it never stalls', async () => {
    expect(await take(1_000, 1, 10)).toEqual(expect.any(Number));
  });

  it('waits for a reader that keeps up the rate, and for a slow source', async () => {
    expect(await take(30, 1_000, 5, 10_000)).toBeNull();
    expect(await take(2, 1, 0, 500, 700)).toBeNull();
  });
});
