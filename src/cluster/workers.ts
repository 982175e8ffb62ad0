import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { RateLimiterClusterMaster } from 'rate-limiter-flexible';
import { monotonicMs } from '../common/clock';
import { designated } from '../common/instance';
import { createLogger } from '../common/log';
import type { Config } from '../config/config';
import type { Served, Serving } from '../serving';
import { serveMetricsPort } from '../metrics/metrics-server';
import { MergedMetrics } from './merged-metrics';
import { send, type ToPrimary } from './messages';
import { WorkerFault } from './worker-fault';
import { passOnLines } from './worker-output';

/** Back-off before a worker is replaced. It doubles with each worker that ends early. */
const pauseMs = { first: 100, max: 30_000 };
/** A worker that ends within this time has ended early. */
const earlyMs = 60_000;

/** The place of a worker, which keeps its number and role when the worker is replaced. */
interface Place {
  /** 1 is the designated worker: it runs jobs and creates the first administrator */
  number: number;
  worker: Worker | null;
  hasServed: boolean;
  beganAt: number;
  /** number of workers in a row that ended early */
  endedEarly: number;
  replacement: NodeJS.Timeout | undefined;
}

/**
 * The workers of this instance, in the primary process (ADR 0014).
 * All workers listen on one port. The primary process accepts the connections and passes them to
 * the workers in turn. It also counts the limits per address, merges the metrics, and writes the
 * log of all workers.
 */
export class Workers implements Serving {
  private readonly log;
  private readonly places: Place[];
  private readonly metrics: MergedMetrics;
  private stopping = false;

  constructor(private readonly config: Config) {
    this.log = createLogger(config.LOG_LEVEL);
    this.places = Array.from({ length: config.WORKERS }, (_, index) => ({
      number: index + 1,
      worker: null,
      hasServed: false,
      beganAt: 0,
      endedEarly: 0,
      replacement: undefined,
    }));
    cluster.schedulingPolicy = cluster.SCHED_RR;
    new RateLimiterClusterMaster();
    this.metrics = new MergedMetrics(config);
    // A worker that hangs would not notice that this process has ended.
    process.once('exit', () => this.running().forEach((worker) => worker.process.kill('SIGKILL')));
  }

  /** Starts the designated worker before all others, so that a fault is reported once. */
  async start(): Promise<Served> {
    await serveMetricsPort(this.config, () => this.metrics.render(this.running()));
    const [first, ...others] = this.places as [Place, ...Place[]];
    const served = await this.fork(first);
    await Promise.all(others.map((place) => this.fork(place)));
    return served;
  }

  leave(): void {
    this.stopping = true;
    for (const worker of this.running()) send(worker, { kind: 'leave' });
  }

  /**
   * Stops one worker last. It takes the connections that the other workers no longer accept.
   * The workers close connections only when all of them have left the listener.
   */
  async stop(): Promise<void> {
    this.stopping = true;
    for (const { replacement } of this.places) clearTimeout(replacement);
    const running = this.running();
    const ended = Promise.all(running.map((worker) => once(worker.process, 'close')));
    const [last, ...others] = running;
    await Promise.all(others.map(leaveListener));
    if (last !== undefined) await leaveListener(last);
    for (const worker of running) send(worker, { kind: 'all-closed' });
    await ended;
  }

  private running(): Worker[] {
    return this.places.flatMap(({ worker }) => worker ?? []);
  }

  /**
   * Starts a worker and waits until it listens.
   * @throws WorkerFault
   */
  private fork(place: Place): Promise<Served> {
    const isDesignated = place.number === 1;
    cluster.setupPrimary({
      exec: join(__dirname, 'worker.js'),
      args: [String(this.config.WORKERS), ...(isDesignated ? [designated] : [])],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    const worker = cluster.fork();
    Object.assign(place, { worker, beganAt: monotonicMs() });
    if (worker.process.stdout !== null) passOnLines(worker.process.stdout);
    // A message could not be sent because the worker has ended.
    worker.on('error', () => undefined);
    send(worker, {
      kind: 'start',
      config: this.config,
      createsAdministrator: isDesignated && !place.hasServed,
    });
    return new Promise((resolve, reject) => {
      let fault: string | null = null;
      worker.on('message', (message: ToPrimary) => {
        if (message.kind === 'failed') fault = message.reason;
        else if (message.kind === 'listens') {
          this.report(place, worker);
          resolve(message.served);
        } else this.receive(worker, message);
      });
      worker.once('disconnect', () => this.metrics.leave(worker));
      worker.process.once('close', (code, signal) => {
        const reason = fault ?? (signal === null ? `exit code ${code}` : `signal ${signal}`);
        reject(new WorkerFault(fault ?? `Worker ${place.number} ended while it started: ${reason}`));
        this.replace(place, reason);
      });
    });
  }

  private receive(worker: Worker, message: ToPrimary): void {
    if (message.kind === 'collected') this.metrics.add(worker, message.id, message.metrics);
    else if (message.kind === 'render') void this.render(worker);
    else if (message.kind === 'closed' && !this.stopping) send(worker, { kind: 'all-closed' });
    else if (message.kind === 'settle') void settle().then(() => send(worker, { kind: 'settled' }));
  }

  private async render(worker: Worker): Promise<void> {
    send(worker, { kind: 'rendered', text: await this.metrics.render(this.running()) });
  }

  private report(place: Place, worker: Worker): void {
    if (place.hasServed) this.log.warn(`worker ${place.number} was replaced by pid ${worker.process.pid}`);
    place.hasServed = true;
  }

  /** Replaces a worker that ended, except if it could not start the first time. */
  private replace(place: Place, reason: string): void {
    place.worker = null;
    if (this.stopping || !place.hasServed) return;
    if (monotonicMs() - place.beganAt > earlyMs) place.endedEarly = 0;
    const pause = Math.min(pauseMs.max, pauseMs.first * 2 ** place.endedEarly++);
    this.log.error(`worker ${place.number} ended and is replaced in ${pause} ms: ${reason}`);
    place.replacement = setTimeout(() => void this.fork(place).catch(() => undefined), pause);
  }
}

/** Waits until the connections that the system has accepted are on their way to the workers. */
async function settle(): Promise<void> {
  await turn();
  await turn();
}

/** Tells a worker to stop, and waits until it has left the listener. */
function leaveListener(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    worker.on('message', ({ kind }: ToPrimary) => kind === 'closed' && resolve());
    worker.once('disconnect', resolve);
    if (!worker.isConnected()) resolve();
    send(worker, { kind: 'stop' });
  });
}
