import cluster, { type Worker } from 'node:cluster';
import { join } from 'node:path';
import { AggregatorRegistry } from 'prom-client';
import { RateLimiterClusterMaster } from 'rate-limiter-flexible';
import type { Config } from '../platform/config/config';
import { designated } from '../platform/instance';
import { createLogger } from '../platform/log/log';
import { serveMetricsPort } from '../platform/metrics/metrics-server';
import { StartFault } from '../platform/start-fault';
import type { Served, Serving, ToPrimary, ToWorker } from './serving';

/** Milliseconds until a worker is replaced, doubled while replacements end before they listen. */
const pauseMs = { first: 1_000, longest: 30_000 };

/**
 * The workers of this instance, in the primary process (ADR 0014).
 * All workers listen on one port. The primary process accepts the connections and passes them to
 * the workers in turn. It also counts the limits per address, and adds up the metrics.
 */
export class Workers implements Serving {
  private readonly log;
  private readonly metrics = new AggregatorRegistry();
  private hasServed = false;
  private stopping = false;

  constructor(private readonly config: Config) {
    this.log = createLogger(config.LOG_LEVEL);
    cluster.schedulingPolicy = cluster.SCHED_RR;
    new RateLimiterClusterMaster();
    // A worker that hangs would not notice that this process has ended.
    process.once('exit', () => running().forEach((worker) => worker.process.kill('SIGKILL')));
  }

  /** Starts worker 1, and the others once it listens, so that a fault is reported once. */
  async start(): Promise<Served> {
    await serveMetricsPort(this.config, () => this.metrics.clusterMetrics());
    const served = await this.fork(1, pauseMs.first);
    this.hasServed = true;
    for (let number = 2; number <= this.config.WORKERS; number++) this.add(number, pauseMs.first);
    return served;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    const ended = running().map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
    for (const worker of running()) send(worker, { kind: 'stop' });
    await Promise.all(ended);
  }

  private add(number: number, pause: number): void {
    // `fork` also replaces a worker that ends while it starts.
    if (!this.stopping) this.fork(number, pause).catch(() => undefined);
  }

  /**
   * Starts a worker and waits until it listens. Worker 1 runs the jobs.
   * @throws StartFault if the worker ends before it listens
   */
  private fork(number: number, pause: number): Promise<Served> {
    const args = [String(this.config.WORKERS), ...(number === 1 ? [designated] : [])];
    cluster.setupPrimary({ exec: join(__dirname, 'worker.js'), args });
    const worker = cluster.fork();
    // A message could not be sent because the worker has ended.
    worker.on('error', () => undefined);
    send(worker, { kind: 'start', config: this.config });
    return new Promise((resolve, reject) => {
      let fault: string | null = null;
      let wait = pause;
      worker.on('message', (message: ToPrimary) => {
        if (message.kind === 'listens') {
          wait = pauseMs.first;
          resolve(message.served);
        } else if (message.kind === 'failed') fault = message.reason;
        else if (message.kind === 'render') void this.render(worker);
        else if (message.kind === 'changed') running().forEach((other) => other !== worker && send(other, message));
      });
      worker.once('exit', (code, signal) => {
        const reason = fault ?? (code === null ? `signal ${signal}` : `exit code ${code}`);
        reject(new StartFault(fault ?? `Worker ${number} ended while it started: ${reason}`));
        if (this.stopping || !this.hasServed) return;
        this.log.error(`worker ${number} ended and is replaced in ${wait} ms: ${reason}`);
        setTimeout(() => this.add(number, Math.min(pauseMs.longest, wait * 2)), wait);
      });
    });
  }

  private async render(worker: Worker): Promise<void> {
    send(worker, { kind: 'rendered', metrics: await this.metrics.clusterMetrics().catch(() => null) });
  }
}

function running(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker?.isDead() === false) as Worker[];
}

/** Sends a message to a worker. Does nothing if the worker has ended. */
function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}
