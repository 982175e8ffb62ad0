import { monotonicMs } from '../common/clock';

/** How slowly a reader may take a file. */
export interface Pace {
  /** milliseconds that a reader may keep the export waiting, when it has taken nothing before */
  patienceMs: number;
  /** bytes that earn one second of patience, up to `patienceMs` */
  bytesPerSecond: number;
}

/**
 * A reader that stalls is cut after a minute; one that trickles is cut unless it takes 16 KiB per
 * second.
 */
export const exportPace: Pace = { patienceMs: 60_000, bytesPerSecond: 16_384 };

/**
 * Yields texts, and calls `giveUp` once the reader has kept it waiting for too long. Only the
 * reader's time counts, not that of the source, so a slow database cuts no client.
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
