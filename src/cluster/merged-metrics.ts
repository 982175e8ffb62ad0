import type { Worker } from 'node:cluster';
import { AggregatorRegistry, register } from 'prom-client';
import type { Config } from '../config/config';
import { startProcessMetrics } from '../metrics/process.metrics';
import { send } from './messages';

/** Time for the workers to respond. They wait two seconds for the database. */
const patienceMs = 3_000;

/**
 * Merges the metrics of the workers and of the primary process, as the `aggregator` of each metric
 * says. Keeps the counts of workers that ended or do not respond in time: Prometheus takes a lower
 * count for a restart of the instance, and would add everything that was counted before once more.
 */
export class MergedMetrics {
  private readonly scrapes = new Map<number, (worker: Worker) => void>();
  /** last response of each worker that has not ended */
  private readonly latest = new Map<Worker, object[]>();
  /** sum of the counts of all workers that ended */
  private ended: object[] = [];
  private rendering: Promise<string> | null = null;
  private last = 0;

  constructor({ METRICS_PORT, METRICS_TOKEN }: Config) {
    if (METRICS_PORT !== undefined || METRICS_TOKEN !== undefined) startProcessMetrics();
  }

  /** Renders the metrics. Scrapes at the same time share the result. */
  render(workers: Iterable<Worker>): Promise<string> {
    this.rendering ??= this.renderNow(new Set(workers)).finally(() => (this.rendering = null));
    return this.rendering;
  }

  /** Takes the metrics of a worker. */
  add(worker: Worker, id: number, metrics: object[]): void {
    if (!worker.isConnected()) return;
    this.latest.set(worker, metrics);
    this.scrapes.get(id)?.(worker);
  }

  /** Keeps the counts of a worker that ended. */
  leave(worker: Worker): void {
    const counts = (this.latest.get(worker) ?? []).filter(isCount);
    this.latest.delete(worker);
    this.ended = AggregatorRegistry.aggregate([this.ended, counts]).getMetricsAsArray();
    for (const respond of this.scrapes.values()) respond(worker);
  }

  private async renderNow(late: Set<Worker>): Promise<string> {
    await this.collect(late);
    const own = await register.getMetricsAsJSON();
    const parts = [...this.latest].map(([worker, metrics]) => (late.has(worker) ? metrics.filter(isCount) : metrics));
    return AggregatorRegistry.aggregate([own, this.ended, ...parts]).metrics();
  }

  /** Asks workers for their metrics, and removes those from `late` that respond in time. */
  private async collect(late: Set<Worker>): Promise<void> {
    const id = ++this.last;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, patienceMs);
      if (late.size === 0) resolve();
      this.scrapes.set(id, (worker) => {
        late.delete(worker);
        if (late.size === 0) resolve();
      });
      for (const worker of late) send(worker, { kind: 'collect', id });
    });
    clearTimeout(timer);
    this.scrapes.delete(id);
  }
}

/** Returns whether a metric only grows while a process runs. */
function isCount(metric: object): boolean {
  return ['counter', 'histogram'].includes((metric as { type: string }).type);
}
