import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp } from './app.setup';
import { Drain, type Listener } from './common/http/drain';
import type { Config } from './config/config';
import { serveMetricsPort } from './metrics/metrics-server';
import { MetricsService } from './metrics/metrics.service';
import { FirstAdministrator } from './recovery/first-administrator.service';
import type { Served, Serving } from './serving';

/**
 * Maximum number of connections that wait to be accepted. A client that finds the queue full
 * retries after a second. 4,096 is the default limit of Linux.
 */
const backlog = 4_096;

/** How a worker differs from a process that is the whole instance. */
export interface ServiceOptions {
  /** whether to create the first administrator */
  createsAdministrator?: boolean;
  /** called before the service listens */
  beforeListen?: (app: NestFastifyApplication) => void;
  /** whether to serve the metrics on `METRICS_PORT` */
  servesMetrics?: boolean;
  /** listener that this process shares with others */
  listener?: Listener;
}

/** The service in this process. */
export class Service implements Serving {
  private app: NestFastifyApplication | null = null;

  constructor(
    private readonly config: Config,
    private readonly options: ServiceOptions = {},
  ) {}

  /**
   * Starts the service.
   * With `ADMIN_PASSWORD`, creates the first administrator before the service listens. Without it,
   * creates the one-time link afterwards: the link would be lost if the port is taken.
   */
  async start(): Promise<Served> {
    const { PORT: port, HOST: host, ADMIN_PASSWORD } = this.config;
    const { createsAdministrator = true, servesMetrics = true, beforeListen } = this.options;
    this.app = await createApp(this.config);
    const administrators = createsAdministrator ? this.app.get(FirstAdministrator) : null;
    if (ADMIN_PASSWORD !== undefined) await administrators?.ensure();
    beforeListen?.(this.app);
    const metrics = this.app.get(MetricsService);
    if (servesMetrics) await serveMetricsPort(this.config, () => metrics.render());
    await this.app.listen({ port, host, backlog });
    const { port: listened } = this.app.getHttpServer().address() as AddressInfo;
    const link = (await administrators?.ensure()) ?? null;
    return { port: listened, link, hasUnusedLink: link === null && (await administrators?.isInvited()) === true };
  }

  leave(): void {
    this.app?.get(Drain).begin();
  }

  async stop(): Promise<void> {
    await this.app?.get(Drain).closeListener(this.options.listener);
    await this.app?.close();
  }
}
