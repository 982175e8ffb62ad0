import type { Worker } from 'node:cluster';
import { AggregatorRegistry, register } from 'prom-client';
import type { Config } from '../config/config';
import { startProcessMetrics } from '../metrics/process.metrics';
import { send } from './catch-ups';

/** Maximum time to wait for the workers, which wait up to two seconds for the database. */
const patienceMs = 3_000;

/**
 * Merges the metrics of the workers and of the primary process with the `aggregator` of each
 * metric. Omits the metrics of workers that do not respond in time.
 */
export class MergedMetrics {
  private readonly scrapes = new Map<number, (worker: Worker, metrics: object[]) => void>();
  private last = 0;

  constructor({ METRICS_PORT, METRICS_TOKEN }: Config) {
    if (METRICS_PORT !== undefined || METRICS_TOKEN !== undefined) startProcessMetrics();
  }

  /** Collects and renders the merged metrics. */
  async render(workers: Iterable<Worker>): Promise<string> {
    const id = ++this.last;
    const waitsFor = new Set(workers);
    const parts: object[][] = [await register.getMetricsAsJSON()];
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, patienceMs);
      if (waitsFor.size === 0) resolve();
      this.scrapes.set(id, (worker, metrics) => {
        parts.push(metrics);
        waitsFor.delete(worker);
        if (waitsFor.size === 0) resolve();
      });
      for (const worker of waitsFor) send(worker, { kind: 'collect', id });
    });
    clearTimeout(timer);
    this.scrapes.delete(id);
    return AggregatorRegistry.aggregate(parts).metrics();
  }

  /** Adds the metrics of a worker to a scrape. */
  add(worker: Worker, id: number, metrics: object[]): void {
    this.scrapes.get(id)?.(worker, metrics);
  }
}
