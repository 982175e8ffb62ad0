import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from '../app.setup';
import { Drain } from '../http/drain';
import { type Config, exportsTraces } from '../platform/config/config';
import { serveMetricsPort } from '../platform/metrics/metrics-server';
import { MetricsService } from '../platform/metrics/metrics.service';
import { startTracing } from '../platform/tracing/spans';
import { FirstAdministrator } from '../auth/recovery/first-administrator.service';
import type { Served, Serving } from './serving';

/**
 * Maximum number of connections that wait to be accepted. A client that finds the queue full
 * retries after a second. 4,096 is the default limit of Linux.
 */
const backlog = 4_096;

/** The service in this process. */
export class Service implements Serving {
  private app: NestFastifyApplication | null = null;
  private stopTracing = () => Promise.resolve();

  /** @param renderAll in a worker, renders the metrics of all workers */
  constructor(
    private readonly config: Config,
    private readonly renderAll?: () => Promise<string>,
  ) {}

  /**
   * Starts the service.
   * With `ADMIN_PASSWORD`, creates the first administrator before the service listens. Without it,
   * creates the one-time link afterwards: the link would be lost if the port is taken.
   */
  async start(): Promise<Served> {
    const { PORT: port, HOST: host, ADMIN_PASSWORD, OTEL_TRACES_SAMPLER: sampler } = this.config;
    if (exportsTraces(this.config)) this.stopTracing = await startTracing(sampler === undefined);
    this.app = await createApp(this.config);
    const administrators = this.app.get(FirstAdministrator);
    if (ADMIN_PASSWORD !== undefined) await administrators.ensure();
    const metrics = this.app.get(MetricsService);
    if (this.renderAll !== undefined) metrics.mergeWith(this.renderAll);
    else await serveMetricsPort(this.config, () => metrics.render());
    await this.app.listen({ port, host, backlog });
    const { port: listened } = this.app.getHttpServer().address() as AddressInfo;
    const link = await administrators.ensure();
    return { port: listened, link, hasUnusedLink: link === null && (await administrators.isInvited()) };
  }

  async stop(): Promise<void> {
    const { SHUTDOWN_DELAY_SECONDS } = this.config;
    const drain = this.app?.get(Drain);
    if (drain?.isListening && SHUTDOWN_DELAY_SECONDS > 0) {
      drain.begin();
      await delay(SHUTDOWN_DELAY_SECONDS * 1_000);
    }
    await drain?.closeListener();
    await this.app?.close();
    await this.stopTracing();
  }
}
