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
  /** error code of a refused request */
  code?: string | undefined;
  ms: number;
  /** absent if the client has gone */
  ip: string | undefined;
  /** the user who sent it */
  user_id?: string | undefined;
  /** the API key that sent it */
  key_id?: string | undefined;
}

const infoOrMore = ['info', 'debug', 'trace'];

/**
 * Returns a function that logs an answered request. Denied requests (403) are logged at level
 * `warn`, so that they can be watched (OWASP ASVS 16.3.2); all others at `info`.
 * A line of the logger, and a write for each line, would cost more than most requests: the line is
 * assembled by hand and written with others. A killed process loses the last 100 ms of them.
 */
export function createAccessLog(level: string): (request: AnsweredRequest) => void {
  const all = infoOrMore.includes(level);
  if (!all && level !== 'warn') return () => undefined;
  return ({ reqId, method, route = '', status, code, ms, ip = '', user_id, key_id }) => {
    const denied = status === 403;
    if (!all && !denied) return;
    const when = `"level":${denied ? 40 : 30},"time":"${currentTimeText()}","reqId":"${reqId}"`;
    const where = `"method":"${method}","route":${JSON.stringify(route)},"status":${status}${field('code', code)}`;
    const who = `"ms":${ms},"ip":${JSON.stringify(ip)}${field('user_id', user_id)}${field('key_id', key_id)}`;
    writeSoon(`{${when},${where},${who},"msg":"request"}\n`);
  };
}

/** Only for codes and ids, which need no escapes. */
function field(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":"${value}"`;
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
