import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { type AppError, invalid } from './errors/app-error';

/** Maximum number of characters of `X-Forwarded-For` that are read. */
const proxiesMax = 1_024;

/**
 * Rejects HTTP/1.1 requests without exactly one Host, and unknown expectations. Shortens a long
 * `X-Forwarded-For`.
 * Node itself would respond without a body and without a log line, so the server must be created
 * with `requireHostHeader: false`.
 */
export function addHeadRules(fastify: FastifyInstance): void {
  const { server } = fastify;
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response),
  );
  fastify.addHook('onRequest', ({ raw }, _reply, done) => {
    shortenProxies(raw);
    done(hostFault(raw) ?? expectFault(raw));
  });
}

/** Keeps the end of a long list of proxies, because trusted proxies come last. */
function shortenProxies({ headers }: IncomingMessage): void {
  const forwarded = headers['x-forwarded-for'];
  if (typeof forwarded === 'string' && forwarded.length > proxiesMax)
    headers['x-forwarded-for'] = forwarded.slice(-proxiesMax).replace(/^[^,]*,?/, '');
}

/** Node keeps only the first Host header, but a proxy may have used the second (RFC 9112 §3.2). */
function hostFault({ httpVersion, rawHeaders }: IncomingMessage): AppError | undefined {
  const hosts = countHeader(rawHeaders, 'host');
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return undefined;
  return invalid({ parameter: 'Host', code: 'parameter.malformed', detail: 'must be given once' });
}

/** Expectations in HTTP/1.0 requests are ignored (RFC 9110 §10.1.1). */
function expectFault({ httpVersion, headers }: IncomingMessage): AppError | undefined {
  const { expect } = headers;
  if (expect === undefined || httpVersion === '1.0' || expect.toLowerCase() === '100-continue') return undefined;
  return invalid({ parameter: 'Expect', code: 'parameter.malformed', detail: 'must be 100-continue' });
}

/** Returns how often a header was sent. Allocates nothing, because it runs for every request. */
export function countHeader(rawHeaders: string[], wanted: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === wanted.length && name.toLowerCase() === wanted) count++;
  }
  return count;
}
