import type { Worker } from 'node:cluster';
import type { Config } from '../config/config';
import type { Served } from '../serving';

/** Messages of the primary process to a worker. */
export type ToWorker =
  /** starts the service */
  | { kind: 'start'; config: Config; createsAdministrator: boolean }
  /** see `Serving.leave` */
  | { kind: 'leave' }
  /** stops the service and ends the worker */
  | { kind: 'stop' }
  /** response to `settle` */
  | { kind: 'settled' }
  /** the listener is closed */
  | { kind: 'all-closed' }
  /** asks for the metrics of the worker */
  | { kind: 'collect'; id: number }
  /** response to `render` */
  | { kind: 'rendered'; text: string };

/** Messages of a worker to the primary process. */
export type ToPrimary =
  /** the service listens */
  | { kind: 'listens'; served: Served }
  /** the service could not start, with an explanation */
  | { kind: 'failed'; reason: string }
  /** asks for a response after all accepted connections were handed to the workers */
  | { kind: 'settle' }
  /** this worker has left the listener */
  | { kind: 'closed' }
  /** response to `collect`, with metrics as `MetricsService.collect` returns them */
  | { kind: 'collected'; id: number; metrics: object[] }
  /** asks for the merged metrics of all workers */
  | { kind: 'render' };

/** Sends a message to a worker. Does nothing if the worker has ended. */
export function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}
