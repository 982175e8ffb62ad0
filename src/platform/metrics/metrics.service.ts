import { Inject, Injectable, Logger } from '@nestjs/common';
import { AggregatorRegistry, type Gauge, register, Registry } from 'prom-client';
import { CONFIG, type Config } from '../config/config';
import { DatabaseSample } from './database-sample';
import { startProcessMetrics } from './process.metrics';

/** Media type of `MetricsService.render`. */
export const metricsType = register.contentType;

/**
 * Renders the metrics of this instance for Prometheus. The features count in their `*.metrics.ts`,
 * and register what must be read at the time of a scrape.
 */
@Injectable()
export class MetricsService {
  private readonly logger = new Logger(MetricsService.name);
  private readonly updates: (() => void)[] = [];
  private readonly samples: DatabaseSample[] = [];
  private rendering: Promise<string> | null = null;
  private renderAll: (() => Promise<string>) | null = null;

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

  /**
   * In a worker, lets the primary process collect the metrics of this process.
   * @param renderAll renders the metrics of all workers, for `render`
   */
  mergeWith(renderAll: () => Promise<string>): void {
    this.renderAll = renderAll;
    const getMetricsAsJSON = async () => {
      await this.update();
      return register.getMetricsAsJSON();
    };
    AggregatorRegistry.setRegistries(Object.assign(new Registry(), { getMetricsAsJSON }));
  }

  /** Renders all metrics of this instance. Scrapes at the same time share the result. */
  render(): Promise<string> {
    this.rendering ??= this.renderNow().finally(() => (this.rendering = null));
    return this.rendering;
  }

  private async renderNow(): Promise<string> {
    if (this.renderAll !== null) return this.renderAll();
    await this.update();
    return register.metrics();
  }

  private async update(): Promise<void> {
    await Promise.all(this.samples.map((sample) => sample.refresh()));
    this.updates.forEach((update) => update());
  }
}
