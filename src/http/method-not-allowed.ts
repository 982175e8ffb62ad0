import { METHODS } from 'node:http';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { AppError } from './errors/app-error';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** the handler of this GET route also responds to all other methods */
    anyMethod?: true;
  }
}

/** Methods that keep their body parsing. All others are registered without a body. */
const standard = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']);
/** All methods that Node parses, except CONNECT, which has no path. */
const all = METHODS.filter((method) => method !== 'CONNECT');

/**
 * Responds to a wrong method on an existing path with 405 and `Allow` (RFC 9110 §15.5.6).
 * HEAD on a GET route of the API also gets 405: a route responds only to the methods it declares.
 * Call it before routes are added, and the function that it returns after.
 */
export function addMethodNotAllowed(fastify: FastifyInstance): () => void {
  const known = new Map<string, Set<string>>();
  // Without `hasBody: false` Fastify rejects a QUERY without a content type before the routing.
  for (const method of all.filter((one) => !standard.has(one)))
    fastify.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  fastify.addHook('onRoute', (route: RouteOptions) => {
    if (route.config?.anyMethod === true) route.method = [...all];
    const { url, method } = route;
    const methods = known.get(url) ?? new Set<string>();
    for (const one of [method].flat()) methods.add(one);
    known.set(url, methods);
  });
  return () => {
    for (const [url, methods] of [...known]) {
      const missing = all.filter((method) => !methods.has(method));
      if (url === '*' || missing.length === 0) continue;
      const allow = [...methods].sort().join(', ');
      const handler = () => {
        throw new AppError('request.method_not_allowed', { headers: { allow } });
      };
      fastify.route({ method: missing, url, handler });
    }
  };
}
