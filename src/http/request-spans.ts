import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isTracing, RequestSpan } from '../platform/tracing/spans';

declare module 'fastify' {
  interface FastifyRequest {
    /** span of the request, while traces are on */
    span?: RequestSpan | undefined;
  }
}

/**
 * Prepares the spans of requests. Returns a function that starts the span of a request, unless a
 * monitoring system sent it, or undefined if traces are off.
 */
export function addRequestSpans(fastify: FastifyInstance, basePath: string) {
  if (!isTracing()) return undefined;
  const monitoring = [`${basePath}/health/`, `${basePath}/metrics`];
  // The context of an earlier hook would be lost while the body is received.
  fastify.addHook('preValidation', ({ span }, _reply, done) => {
    if (span === undefined) done();
    else span.continue(done);
  });
  return (request: FastifyRequest) => {
    if (!monitoring.some((path) => request.url.startsWith(path)))
      request.span = RequestSpan.start(request.method, request.headers);
  };
}

/**
 * Ends the span of a request. It names the pattern of the route, because the path of a mailed link
 * contains a token (O30).
 */
export function endRequestSpan({ span, method, errorCode }: FastifyRequest, status: number, route?: string): void {
  const attributes = { 'http.request.method': method, 'http.response.status_code': status };
  span?.end(
    route === undefined ? method : `${method} ${route}`,
    route === undefined ? attributes : { ...attributes, 'http.route': route },
    status < 500 ? undefined : (errorCode ?? String(status)),
  );
}
