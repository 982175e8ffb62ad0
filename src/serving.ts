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
  /** Makes the service not ready, and closes each connection after its next response. */
  leave(): void;
  /** Closes the listener, finishes running requests and ends the service. */
  stop(): Promise<void>;
}
