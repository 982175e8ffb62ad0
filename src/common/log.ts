import type { LoggerService } from '@nestjs/common';
import { destination, type Logger, pino } from 'pino';

/** The one stream of log lines: JSON on stdout. Secrets have no way in: requests are logged by route pattern, never with headers, query or body. */
export function createLogger(level: string): Logger {
  return pino({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: ['*.password', '*.token', 'err.parameters', 'err.driverError', 'err.query', 'err.detail', 'err.where'], remove: true },
  });
}

/** So long may a line of the access log wait for others; no longer than a person who watches it notices. */
const flushEveryMs = 100;
let accessStream: ReturnType<typeof destination> | null = null;

/**
 * A line for every answered request, into the same stream: of fixed fields without secrets, so that nothing has to be looked for in them, and written
 * together with others, since a write costs as much as a request. A process that is killed takes the last tenth of a second with it.
 */
export function createAccessLog(level: string): Logger {
  if (accessStream === null) {
    const stream = destination({ dest: 1, minLength: 4_096, sync: true });
    setInterval(() => stream.flush(), flushEveryMs).unref();
    process.once('exit', () => stream.flushSync());
    accessStream = stream;
  }
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, accessStream);
}

/** Lets Nest write into the same stream. */
export class NestLog implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, context?: unknown): void {
    this.logger.info({ context }, String(message));
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.logger.error({ context: rest.at(-1), stack: rest.length > 1 ? rest[0] : undefined }, String(message));
  }

  warn(message: unknown, context?: unknown): void {
    this.logger.warn({ context }, String(message));
  }

  debug(message: unknown, context?: unknown): void {
    this.logger.debug({ context }, String(message));
  }

  verbose(message: unknown, context?: unknown): void {
    this.logger.trace({ context }, String(message));
  }
}
