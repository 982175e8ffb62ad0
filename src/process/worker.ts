import { inspect } from 'node:util';
import { AggregatorRegistry } from 'prom-client';
import type { Config } from '../platform/config/config';
import { setUpProcess } from './process-setup';
import { Service } from './service';
import type { ToPrimary, ToWorker } from './serving';
import { explainStartFault, withoutInput } from './start-fault';

// The program of a worker. `Workers` in the primary process starts it and stops it by messages.
// Node ends a worker as soon as the primary process has ended.
let service: Service | null = null;
let started: Promise<void> | null = null;
let rendered: (metrics: string | null) => void = () => undefined;

async function start(config: Config): Promise<void> {
  service = new Service(config, renderAll);
  toPrimary({ kind: 'listens', served: await service.start() });
}

/**
 * Renders the metrics of all workers. Supports one call at a time, because `MetricsService` shares
 * the result of a render.
 */
async function renderAll(): Promise<string> {
  toPrimary({ kind: 'render' });
  const metrics = await new Promise<string | null>((resolve) => (rendered = resolve));
  if (metrics === null) throw new Error('a worker did not respond');
  return metrics;
}

async function end(code: number): Promise<void> {
  await started?.catch(() => undefined);
  await service?.stop();
  process.exit(code);
}

function toPrimary(message: ToPrimary): void {
  process.send?.(message);
}

setUpProcess();
// A terminal sends signals to the whole process group. The primary process handles them.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
// The registry responds to the primary process with the metrics of this worker.
new AggregatorRegistry();
process.on('message', (message: ToWorker) => {
  if (message.kind === 'start') {
    started = start(message.config);
    started.catch((error: unknown) => {
      toPrimary({ kind: 'failed', reason: explainStartFault(error) ?? inspect(withoutInput(error)) });
      void end(1);
    });
  } else if (message.kind === 'stop') void end(0);
  else if (message.kind === 'rendered') rendered(message.metrics);
});
