import type { IncomingHttpHeaders, IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { monotonicMs } from '../common/clock';
import { countHeader } from '../common/http/head-rules';
import type { AnsweredRequest } from '../common/log';
import type { CheckTokenService } from './check-token.service';

/** What `answerKnownTokens` needs of the service around it. */
export interface KnownTokensOptions {
  /** path of check-token, with the prefix of all paths */
  path: string;
  /** headers that every answer has */
  headers: Record<string, string>;
  /** name of a request */
  requestId: (request: IncomingMessage) => string;
  log: (request: AnsweredRequest) => void;
  tokens: CheckTokenService;
}

/** A longer body is not only a token. */
const bodyMax = 4_120;
const onlyToken = /^\{"token":"([A-Za-z0-9._-]+)"\}$/;
const onlyBearer = /^Bearer ([A-Za-z0-9._-]+)$/;
/** With one of these a request has something besides to be looked at. */
const unusual = ['transfer-encoding', 'content-encoding', 'expect', 'origin', 'x-forwarded-for', 'upgrade'];

/**
 * The hot path of `POST /auth/check-token`: a known token, in the body or as the bearer of an empty
 * object, is answered before the framework begins, which costs several times as much as the answer.
 * The route is public, so no guard is passed over; whatever is not exactly the usual request, or
 * not known, takes the way of all requests, unread. Call it once the server has its listener.
 */
export function answerKnownTokens(server: Server, options: KnownTokensOptions): void {
  const [all] = server.listeners('request') as RequestListener[];
  if (all === undefined) throw new Error('the server has no listener yet');
  server.removeListener('request', all);
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    // a server that closes has more to say in its answers
    if (request.url !== options.path || request.method !== 'POST' || !server.listening || !isUsual(request))
      all(request, response);
    // the body comes with the headers, or right after this turn
    else process.nextTick(() => answer(request, response, options) || all(request, response));
  });
}

function isUsual({ headers, rawHeaders }: IncomingMessage): boolean {
  const length = Number(headers['content-length']);
  if (headers['content-type'] !== 'application/json' || !(length > 0 && length <= bodyMax)) return false;
  return (
    unusual.every((name) => headers[name as keyof IncomingHttpHeaders] === undefined) &&
    countHeader(rawHeaders, 'host') === 1
  );
}

function knownIn(body: string, { headers, rawHeaders }: IncomingMessage, tokens: CheckTokenService): Buffer | null {
  const [, inBody] = onlyToken.exec(body) ?? [];
  if (inBody !== undefined) return tokens.known(inBody, 'body');
  if (body !== '{}' || headers['x-auth-token'] !== undefined || countHeader(rawHeaders, 'authorization') !== 1)
    return null;
  const [, inHeader] = onlyBearer.exec(headers.authorization ?? '') ?? [];
  return inHeader === undefined ? null : tokens.known(inHeader, 'header');
}

function answer(request: IncomingMessage, response: ServerResponse, options: KnownTokensOptions): boolean {
  const began = monotonicMs();
  const body = request.read() as Buffer | null;
  if (body === null) return false;
  const isWhole = body.length === Number(request.headers['content-length']);
  const known = isWhole ? knownIn(body.toString('latin1'), request, options.tokens) : null;
  if (known === null) {
    request.unshift(body);
    return false;
  }
  const reqId = options.requestId(request);
  const own = {
    'x-request-id': reqId,
    'content-type': 'application/json; charset=utf-8',
    'content-length': known.length,
  };
  response.writeHead(200, { ...options.headers, ...own }).end(known);
  const ip = request.socket.remoteAddress ?? '';
  options.log({ reqId, method: 'POST', route: options.path, status: 200, ms: Math.round(monotonicMs() - began), ip });
  return true;
}
