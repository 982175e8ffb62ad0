import type { LoggerService } from '@nestjs/common';
import { type Logger, pino } from 'pino';
import { currentTimeText } from './clock';
import { writeNow, writeSoon } from './log-stream';

/** The one stream of log lines: JSON on stdout. Secrets have no way in: requests are logged by route pattern, never with headers, query or body. */
export function createLogger(level: string): Logger {
  const redact = {
    paths: ['*.password', '*.token', 'err.parameters', 'err.driverError', 'err.query', 'err.detail', 'err.where'],
    remove: true,
  };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact }, { write: writeNow });
}

/** An answered request, as the access log shows it: no field can hold a secret. */
export interface AnsweredRequest {
  reqId: string;
  method: string;
  /** pattern of the route, never the path: a mailed link's token is in it (OWASP ASVS 16.2.5) */
  route: string | undefined;
  status: number;
  ms: number;
  ip: string;
  user_id: string | undefined;
}

const infoOrMore = ['info', 'debug', 'trace'];

/**
 * Writes a line for every answered request into the same stream, put together by hand and written together with others: a line of the logger, and a write
 * of its own, would cost more than most requests. A process that is killed takes the last tenth of a second with it.
 */
export function createAccessLog(level: string): (request: AnsweredRequest) => void {
  if (!infoOrMore.includes(level)) return () => undefined;
  return ({ reqId, method, route = '', status, ms, ip, user_id }) => {
    const who = user_id === undefined ? '' : `,"user_id":"${user_id}"`;
    const where = `"method":"${method}","route":${JSON.stringify(route)},"status":${status},"ms":${ms},"ip":${JSON.stringify(ip)}`;
    writeSoon(`{"level":30,"time":"${currentTimeText()}","reqId":"${reqId}",${where}${who},"msg":"request"}\n`);
  };
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
