import { Inject, Injectable, Logger } from '@nestjs/common';
import { type Gauge, register } from 'prom-client';
import { CONFIG, type Config } from '../config/config';
import { DatabaseSample } from './database-sample';
import { startProcessMetrics } from './process.metrics';

/** Media type of `MetricsService.render`. */
export const metricsType = register.contentType;

/**
 * Renders the metrics of this process for Prometheus. The features count in their `*.metrics.ts`,
 * and register what must be read at the time of a scrape.
 */
@Injectable()
export class MetricsService {
  private readonly logger = new Logger(MetricsService.name);
  private readonly updates: (() => void)[] = [];
  private readonly samples: DatabaseSample[] = [];
  private rendering: Promise<string> | null = null;
  private renderMerged: (() => Promise<string>) | null = null;

  constructor(@Inject(CONFIG) { METRICS_PORT, METRICS_TOKEN }: Config) {
    if (METRICS_PORT !== undefined || METRICS_TOKEN !== undefined) startProcessMetrics();
  }

  /** Registers a function that sets gauges from the memory of this process before each scrape. */
  beforeScrape(update: () => void): void {
    this.updates.push(update);
  }

  /**
   * Registers gauges that are read from the database. The gauges need labels.
   * A scrape waits for at most two seconds, and uses values for five. Without the database, the
   * gauges are absent from the scrape.
   * @param read sends one cheap statement
   * @param set sets the gauges from all rows
   */
  sample<Row>(gauges: Gauge[], read: () => Promise<Row[]>, set: (rows: Row[]) => void): void {
    const onFault = (error: unknown) => this.logger.warn(`metrics: ${String(error)}`);
    const readSetter = async () => {
      const rows = await read();
      return () => set(rows);
    };
    this.samples.push(new DatabaseSample(gauges, readSetter, onFault));
  }

  /** Registers how to render the metrics of all workers of this instance. */
  mergeWith(renderMerged: () => Promise<string>): void {
    this.renderMerged = renderMerged;
  }

  /** Renders all metrics of this instance. Scrapes at the same time share the result. */
  render(): Promise<string> {
    this.rendering ??= this.renderNow().finally(() => (this.rendering = null));
    return this.rendering;
  }

  /** Returns all metrics of this process, to be merged with others. */
  async collect(): Promise<object[]> {
    await this.update();
    return register.getMetricsAsJSON();
  }

  private async renderNow(): Promise<string> {
    if (this.renderMerged !== null) return this.renderMerged();
    await this.update();
    return register.metrics();
  }

  private async update(): Promise<void> {
    await Promise.all(this.samples.map((sample) => sample.refresh()));
    this.updates.forEach((update) => update());
  }
}
