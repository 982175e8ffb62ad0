import type { Gauge } from 'prom-client';
import { monotonicMs } from '../clock';
import { within } from '../within';

/** Maximum time that a scrape waits for the database. */
const patienceMs = 2_000;
/** Time for which values are reused. */
const freshMs = 5_000;

/** Gauges whose values are read from the database, at most one statement at a time. */
export class DatabaseSample {
  private freshUntil = 0;
  private reading: Promise<void> | null = null;
  private failed = false;

  /**
   * @param read reads the values, and returns a function that sets them
   * @param onFault receives the first error of several in a row
   */
  constructor(
    private readonly gauges: Gauge[],
    private readonly read: () => Promise<() => void>,
    private readonly onFault: (error: unknown) => void,
  ) {}

  /** Updates the gauges, or removes their values if the database does not respond in time. */
  async refresh(): Promise<void> {
    if (monotonicMs() < this.freshUntil) return;
    this.reading ??= this.update().finally(() => (this.reading = null));
    await within(patienceMs, this.reading, () => this.clear());
  }

  private async update(): Promise<void> {
    try {
      const set = await this.read();
      this.clear();
      set();
      this.freshUntil = monotonicMs() + freshMs;
      this.failed = false;
    } catch (error) {
      this.clear();
      if (!this.failed) this.onFault(error);
      this.failed = true;
    }
  }

  private clear(): void {
    this.gauges.forEach((gauge) => gauge.reset());
  }
}
