import type { FastifyInstance, onSendHookHandler } from 'fastify';
import type { Notifications } from './notifications.service';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Which responses of a POST, PATCH or DELETE wait for cache invalidation. By default all except
     * 429 and 503. `errors`: only error responses, for a route whose success changes no cached
     * state. `none`: the handler waits itself.
     */
    awaitsInvalidation?: 'errors' | 'none';
  }
}

const changingMethods = new Set(['POST', 'PATCH', 'DELETE']);
/** Statuses of requests that change nothing. Frequent under load, so they must not wait. */
const rejected = new Set([429, 503]);

/**
 * Delays the response to a change until all caches of this instance have received the change.
 * The next request of the client then sees the change.
 */
export function awaitOwnChanges(fastify: FastifyInstance, notifications: Notifications): void {
  fastify.addHook('onRoute', (route) => {
    if (![route.method].flat().some((method) => changingMethods.has(method))) return;
    const awaitsInvalidation = route.config?.awaitsInvalidation;
    if (awaitsInvalidation === 'none') return;
    const hook: onSendHookHandler = (_request, reply, _payload, done) => {
      if (awaitsInvalidation === 'errors' ? reply.statusCode < 400 : rejected.has(reply.statusCode)) done();
      else void notifications.caughtUp().finally(() => done());
    };
    route.onSend = [route.onSend ?? [], hook].flat();
  });
}
