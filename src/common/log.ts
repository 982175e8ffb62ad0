import type { LoggerService } from '@nestjs/common';
import { type Logger, pino } from 'pino';
import { currentTimeText } from './clock';
import { writeNow, writeSoon } from './log-stream';

/**
 * Creates the logger, which writes JSON lines to stdout.
 * Requests are logged by route pattern, without headers, query or body, so no secret is logged.
 */
export function createLogger(level: string): Logger {
  const redact = {
    paths: ['*.password', '*.token', 'err.parameters', 'err.driverError', 'err.query', 'err.detail', 'err.where'],
    remove: true,
  };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact }, { write: writeNow });
}

/** A line of the access log. No field can contain a secret. */
export interface LoggedRequest {
  reqId: string;
  method: string;
  /**
   * pattern of the route, because the path of a mailed link contains a token (OWASP ASVS 16.2.5)
   */
  route: string | undefined;
  status: number;
  /** error code of a rejected request */
  code?: string | undefined;
  ms: number;
  /** absent if the client has disconnected */
  ip: string | undefined;
  /** user who sent the request */
  user_id?: string | undefined;
  /** API key that sent the request */
  key_id?: string | undefined;
}

const infoOrMore = ['info', 'debug', 'trace'];

/**
 * Returns a function that logs a completed request: denied requests (403) at level `warn`, so that
 * operators can watch them (OWASP ASVS 16.3.2), and all others at `info`.
 * Assembles lines by hand and writes them in batches, because the logger and one write per line
 * would cost more than most requests. A killed process loses the lines of its last 100 ms.
 */
export function createAccessLog(level: string): (request: LoggedRequest) => void {
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

/** Renders a field whose value needs no escapes: a code or an id. */
function field(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":"${value}"`;
}

/** Writes the log lines of Nest to the same stream. */
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
