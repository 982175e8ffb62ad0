import type { FastifyInstance, preHandlerHookHandler } from 'fastify';
import type { CheckTokenService } from './check-token.service';

/**
 * The hot path of `POST /auth/check-token`: a token in the body that is known is answered as soon as the body is read. Everything else goes its way through
 * guards, handler and filter, which cost more than the answer; a public route, so no guard is passed over. Call it before routes are added.
 */
export function answerKnownTokens(fastify: FastifyInstance, url: string, tokens: CheckTokenService): void {
  const answer: preHandlerHookHandler = (request, reply, done) => {
    // with a query, or in another spelling, it is for the rules of requests
    const known = request.url === url ? tokens.known(request.body) : null;
    if (known === null) done();
    else void reply.header('content-type', 'application/json; charset=utf-8').send(known);
  };
  fastify.addHook('onRoute', (route) => {
    if (route.url === url && route.method === 'POST') route.preHandler = [answer, route.preHandler ?? []].flat();
  });
}
