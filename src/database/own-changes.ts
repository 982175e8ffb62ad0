import type { FastifyInstance, onSendHookHandler } from 'fastify';
import type { Notifications } from './notifications.service';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Which answers of a POST, PATCH or DELETE are held back: without it all but those that turn
     * away. `refusals`: only where it refuses does it change anything that is cached. `none`: the
     * handler itself waits where it has.
     */
    heldBack?: 'refusals' | 'none';
  }
}

const changing = new Set(['POST', 'PATCH', 'DELETE']);
/**
 * Turned away, and nothing was done. Of all answers these must not wait, since there are many of
 * them when there is no room.
 */
const turnedAway = new Set([429, 503]);

/**
 * Holds an answer back until what its request has changed has arrived at the caches of this
 * instance: who is told that it is done finds it done.
 */
export function awaitOwnChanges(fastify: FastifyInstance, notifications: Notifications): void {
  fastify.addHook('onRoute', (route) => {
    if (![route.method].flat().some((method) => changing.has(method))) return;
    const heldBack = route.config?.heldBack;
    if (heldBack === 'none') return;
    const hook: onSendHookHandler = (_request, reply, _payload, done) => {
      if (heldBack === 'refusals' ? reply.statusCode < 400 : turnedAway.has(reply.statusCode)) done();
      else void notifications.caughtUp().finally(() => done());
    };
    route.onSend = [route.onSend ?? [], hook].flat();
  });
}
