import { inspect } from 'node:util';
import { MetricsService } from '../metrics/metrics.service';
import { setUpProcess } from '../process-setup';
import { Service } from '../service';
import { explainStartFault, withoutInput } from '../start-fault';
import type { ToWorker } from './messages';
import { Siblings, toPrimary } from './siblings';

// The program of a worker. `Workers` in the primary process starts it and controls it by messages.
// Node ends a worker as soon as the primary process has ended.
const siblings = new Siblings();
let service: Service | null = null;
let started: Promise<void> | null = null;

async function start({ config, createsAdministrator }: Extract<ToWorker, { kind: 'start' }>): Promise<void> {
  service = new Service(config, {
    createsAdministrator,
    servesMetrics: false,
    beforeListen: (app) => siblings.join(app.get(MetricsService)),
    listener: siblings,
  });
  toPrimary({ kind: 'listens', served: await service.start() });
}

async function fail(error: unknown): Promise<void> {
  toPrimary({ kind: 'failed', reason: explainStartFault(error) ?? inspect(withoutInput(error)) });
  await service?.stop();
  process.exit(1);
}

async function stop(): Promise<void> {
  await started?.catch(() => undefined);
  await service?.stop();
  process.exit(0);
}

setUpProcess();
// A terminal sends signals to the whole process group. The primary process handles them.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.on('message', (message: ToWorker) => {
  if (message.kind === 'start') (started = start(message)).catch(fail);
  else if (message.kind === 'leave') service?.leave();
  else if (message.kind === 'stop') void stop();
  else siblings.receive(message);
});
