import type { LoggerService } from '@nestjs/common';
import { type Logger, pino } from 'pino';
import { lineHead, writer } from './log-line';
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
  const formatters = { level: (label: string) => ({ level: label }) };
  const { isoTime: timestamp } = pino.stdTimeFunctions;
  return pino({ level, base: writer, formatters, timestamp, redact }, { write: writeNow });
}

/** A line of the access log. No field can contain a secret. */
export interface LoggedRequest {
  reqId: string;
  /** id of the distributed trace that the client sent */
  trace_id: string | undefined;
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
  return ({ reqId, trace_id, method, route = '', status, code, ms, ip = '', user_id, key_id }) => {
    const denied = status === 403;
    if (!all && !denied) return;
    const what = `${lineHead(denied ? 'warn' : 'info')},"reqId":"${reqId}"${field('trace_id', trace_id)}`;
    const where = `"method":"${method}","route":${JSON.stringify(route)},"status":${status}${field('code', code)}`;
    const who = `"ms":${ms},"ip":${JSON.stringify(ip)}${field('user_id', user_id)}${field('key_id', key_id)}`;
    writeSoon(`{${what},${where},${who},"msg":"request"}\n`);
  };
}

/** Renders a field whose value needs no escapes: a code or an id. */
function field(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":"${value}"`;
}

/**
 * A message of Nest's `Logger` with further fields of its log line. No field may contain a secret.
 */
export interface LogEntry {
  msg: string;
  [field: string]: unknown;
}

/**
 * An error with further fields for its log line. Neither the message nor a field may contain a
 * secret.
 */
export class LoggedError extends Error {
  constructor(
    message: string,
    readonly fields: Record<string, string>,
  ) {
    super(message);
  }
}

/** Writes the log lines of Nest to the same stream. */
export class NestLog implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, context?: unknown): void {
    this.write('info', message, { context });
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, { context: rest.at(-1), stack: rest.length > 1 ? rest[0] : undefined });
  }

  warn(message: unknown, context?: unknown): void {
    this.write('warn', message, { context });
  }

  debug(message: unknown, context?: unknown): void {
    this.write('debug', message, { context });
  }

  verbose(message: unknown, context?: unknown): void {
    this.write('trace', message, { context });
  }

  private write(level: 'info' | 'error' | 'warn' | 'debug' | 'trace', message: unknown, fields: object): void {
    const { msg, ...more } = isEntry(message) ? message : { msg: String(message) };
    this.logger[level]({ ...fields, ...more }, msg);
  }
}

function isEntry(message: unknown): message is LogEntry {
  return typeof message === 'object' && message !== null && 'msg' in message;
}
