import type { Config } from '../platform/config/config';
import type { ReaderChanged } from '../platform/database/replica';

/** The service once it listens. */
export interface Served {
  port: number;
  /** one-time link with which the first administrator sets a password */
  link: string | null;
  /** whether an earlier start printed such a link, which was not used */
  hasUnusedLink: boolean;
}

/** Runs the service, in this process or in its workers. */
export interface Serving {
  /** Starts the service and listens. */
  start(): Promise<Served>;
  /**
   * Makes the service not ready, waits for `SHUTDOWN_DELAY_SECONDS`, finishes running requests and
   * ends the service.
   */
  stop(): Promise<void>;
}

/** Messages of the primary process to a worker. */
export type ToWorker =
  { kind: 'start'; config: Config } | { kind: 'stop' } | { kind: 'rendered'; metrics: string | null } | ReaderChanged;

/**
 * Messages of a worker to the primary process. `render` asks for the metrics of all workers, and
 * `changed` is passed on to the other workers.
 */
export type ToPrimary =
  { kind: 'listens'; served: Served } | { kind: 'failed'; reason: string } | { kind: 'render' } | ReaderChanged;
