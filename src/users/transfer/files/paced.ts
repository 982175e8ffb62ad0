import { monotonicMs } from '../../../platform/clock';

/** Minimum speed of a client that reads a file. */
export interface Pace {
  /** milliseconds that the export waits for a client that has read nothing yet */
  patienceMs: number;
  /** bytes that extend the wait by one second, up to `patienceMs` */
  bytesPerSecond: number;
}

/** Disconnects a client that stalls for 30 s, or reads less than 16 KiB per second for long. */
export const exportPace: Pace = { patienceMs: 30_000, bytesPerSecond: 16_384 };

/**
 * Yields texts, and calls `giveUp` once the client has kept the export waiting for too long.
 * Measures only the time of the client, so that a slow database disconnects no client.
 */
export async function* paced(
  texts: AsyncIterable<string>,
  { patienceMs, bytesPerSecond }: Pace,
  giveUp: () => void,
): AsyncGenerator<string> {
  let patience = patienceMs;
  for await (const text of texts) {
    const since = monotonicMs();
    const timer = setTimeout(giveUp, patience);
    try {
      yield text;
    } finally {
      clearTimeout(timer);
    }
    const earned = (Buffer.byteLength(text) / bytesPerSecond) * 1_000;
    patience = Math.min(patienceMs, Math.max(0, patience - (monotonicMs() - since)) + earned);
  }
}

/** Yields a text, then the texts of a generator, which it closes at the end. */
export async function* chain(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}
