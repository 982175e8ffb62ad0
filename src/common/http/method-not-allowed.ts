import { METHODS } from 'node:http';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { AppError } from '../errors/app-error';

/** Methods of our routes. They keep their body parser. */
const ours = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']);
/** Every method that Node parses. CONNECT has no path, so no route can answer it. */
const all = METHODS.filter((method) => method !== 'CONNECT');

/**
 * Answers a wrong method on a path that exists with 405 and `Allow` (RFC 9110 §15.5.6), and HEAD
 * where there is GET with 405 too: no route is reached by a method it does not name. Call before
 * routes are added, `register` after.
 */
export function addMethodNotAllowed(fastify: FastifyInstance): { register: () => void } {
  const known = new Map<string, Set<string>>();
  fastify.addHook('onRoute', ({ url, method }: RouteOptions) => {
    const methods = known.get(url) ?? new Set<string>();
    for (const one of [method].flat()) methods.add(one);
    known.set(url, methods);
  });
  return {
    register: () => {
      // Without `hasBody: false` Fastify rejects a QUERY without a content type before the routing.
      for (const method of all.filter((one) => !ours.has(one)))
        fastify.addHttpMethod(method, { hasBody: false, overrideExisting: true });
      for (const [url, methods] of [...known]) {
        if (url.includes('*')) continue;
        const missing = all.filter((method) => !methods.has(method));
        const allow = [...methods].sort().join(', ');
        if (missing.length === 0) continue;
        fastify.route({
          method: missing,
          url,
          handler: () => {
            throw new AppError('request.method_not_allowed', { headers: { allow } });
          },
        });
      }
    },
  };
}
