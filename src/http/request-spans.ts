import type { Span } from '@opentelemetry/api';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { continueIn, endSpan, isTracing, startRequestSpan } from '../platform/tracing/spans';

declare module 'fastify' {
  interface FastifyRequest {
    /** span of the request, while traces are on; requests of monitoring systems have none */
    span?: Span | undefined;
  }
}

/** Starts the span of each request, and runs its handler in it. Does nothing if traces are off. */
export function addRequestSpans(fastify: FastifyInstance, basePath: string): void {
  if (!isTracing()) return;
  const monitoring = [`${basePath}/health/`, `${basePath}/metrics`];
  fastify.addHook('onRequest', (request, _reply, done) => {
    const { method, headers, routeOptions } = request;
    // The pattern of the route, because the path of a mailed link contains a token (O30).
    const name = routeOptions.url === undefined ? method : `${method} ${routeOptions.url}`;
    if (!monitoring.some((path) => request.url.startsWith(path))) request.span = startRequestSpan(name, headers);
    done();
  });
  // The last hook: an earlier one would lose the context while the body is received, and a known
  // token, which a hook responds to, needs no context.
  fastify.addHook('onRoute', (route) => {
    route.preHandler = [route.preHandler ?? [], continueInSpan].flat();
  });
}

function continueInSpan({ span }: FastifyRequest, _reply: unknown, done: () => void): void {
  if (span === undefined) done();
  else continueIn(span, done);
}

/** Ends the span of a request. */
export function endRequestSpan({ span, method, errorCode }: FastifyRequest, status: number, route?: string): void {
  // Most requests are not recorded if a sampler chooses few.
  if (span?.isRecording() !== true) return;
  span.setAttribute('http.request.method', method).setAttribute('http.response.status_code', status);
  if (route !== undefined) span.setAttribute('http.route', route);
  endSpan(span, status < 500 ? {} : { 'error.type': errorCode ?? String(status) });
}
