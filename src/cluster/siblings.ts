import type { Listener } from '../common/http/drain';
import type { MetricsService } from '../metrics/metrics.service';
import type { ToPrimary, ToWorker } from './messages';

/** The other workers of this instance, reached through the primary process. */
export class Siblings implements Listener {
  private metrics: MetricsService | null = null;
  private settled: (() => void)[] = [];
  private allClosed: (() => void) | null = null;
  private rendered: ((text: string) => void) | null = null;

  /** Merges the metrics of this worker with the metrics of the other workers. */
  join(metrics: MetricsService): void {
    this.metrics = metrics;
    metrics.mergeWith(() => this.render());
  }

  settle(): Promise<void> {
    return new Promise((resolve) => {
      this.settled.push(resolve);
      toPrimary({ kind: 'settle' });
    });
  }

  closed(): Promise<void> {
    return new Promise((resolve) => {
      this.allClosed = resolve;
      toPrimary({ kind: 'closed' });
    });
  }

  /** Handles a message of the primary process. */
  receive(message: ToWorker): void {
    if (message.kind === 'settled') this.settled.shift()?.();
    if (message.kind === 'all-closed') this.allClosed?.();
    if (message.kind === 'collect') void this.collect(message.id);
    if (message.kind === 'rendered') this.rendered?.(message.text);
  }

  private async collect(id: number): Promise<void> {
    toPrimary({ kind: 'collected', id, metrics: (await this.metrics?.collect()) ?? [] });
  }

  /** Supports one call at a time, because `MetricsService` shares the result of a render. */
  private render(): Promise<string> {
    return new Promise((resolve) => {
      this.rendered = resolve;
      toPrimary({ kind: 'render' });
    });
  }
}

/** Sends a message to the primary process. */
export function toPrimary(message: ToPrimary): void {
  process.send?.(message);
}
