import type { FastifyInstance } from 'fastify';
import type { Notifications } from './notifications.service';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** a POST that changes something only where it refuses: its success is not held back */
    seldomChanges?: boolean;
  }
}

const changing = new Set(['POST', 'PATCH', 'DELETE']);

/** Holds an answer back until what its request has changed has arrived at the caches of this instance: who is told that it is done finds it done. */
export function awaitOwnChanges(fastify: FastifyInstance, notifications: Notifications): void {
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    const unchanged = request.routeOptions.config.seldomChanges === true && reply.statusCode < 400;
    if (unchanged || !changing.has(request.method)) return done();
    void notifications.caughtUp().finally(() => done());
  });
}
