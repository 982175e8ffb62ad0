import type { FastifyInstance, onSendHookHandler } from 'fastify';
import type { Notifications } from './notifications.service';
import type { Replica } from './replica';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Which responses of a POST, PATCH or DELETE wait for cache invalidation. By default all except
     * 429 and 503. `errors`: only error responses, for a route whose success changes no cached
     * state. `none`: the handler waits itself, and the caller has changed nothing.
     */
    awaitsInvalidation?: 'errors' | 'none';
    /** The response of a GET shows changes. Later lists of the caller must contain them. */
    showsChanges?: true;
  }
}

const changingMethods = new Set(['POST', 'PATCH', 'DELETE']);
/** Statuses of requests that change nothing. Frequent under load, so they must not wait. */
const rejected = new Set([429, 503]);

/**
 * Delays the response to a change until all caches of this instance have received the change, and
 * notes the change for reads from the replica. The next request of the client then sees the change.
 */
export function awaitOwnChanges(fastify: FastifyInstance, notifications: Notifications, replica: Replica): void {
  fastify.addHook('onRoute', (route) => {
    const { awaitsInvalidation, showsChanges } = route.config ?? {};
    if (awaitsInvalidation === 'none') return;
    const changes = [route.method].flat().some((method) => changingMethods.has(method));
    if (!changes && showsChanges !== true) return;
    const note: onSendHookHandler = ({ actor }, _reply, _payload, done) => {
      if (actor !== undefined) replica.noteChange(actor);
      done();
    };
    if (replica.isConfigured) route.onSend = [route.onSend ?? [], note].flat();
    if (!changes) return;
    const hook: onSendHookHandler = (_request, reply, _payload, done) => {
      if (awaitsInvalidation === 'errors' ? reply.statusCode < 400 : rejected.has(reply.statusCode)) done();
      else void notifications.caughtUp().finally(() => done());
    };
    route.onSend = [route.onSend ?? [], hook].flat();
  });
}
