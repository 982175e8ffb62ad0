import type { FastifyInstance, FastifyRequest, preHandlerHookHandler } from 'fastify';
import { parseBody } from '../../http/bodies/body-parsers';
import type { CheckTokenService } from './check-token.service';
import { findAccessToken } from './request-tokens';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** responds to a known access token before Nest's handler runs; see `respondToKnownTokens` */
    respondsToKnownTokens?: boolean;
  }
}

/**
 * Adds the fast path of `POST /auth/check-token` to routes with `respondsToKnownTokens`.
 * A hook responds to a token that is verified and whose login is in memory. All hooks of the
 * framework run as usual. Only Nest's guards and handler are skipped, which have nothing to reject:
 * the route is public, and the body contains at most the token.
 * All other requests reach the handler. Call it before routes are added.
 */
export function respondToKnownTokens(fastify: FastifyInstance, tokens: CheckTokenService): void {
  const hook: preHandlerHookHandler = (request, reply, done) => {
    parseBody(request);
    const response = isUsual(request) ? findResponse(request, tokens) : null;
    if (response === null) done();
    else void reply.header('content-type', 'application/json; charset=utf-8').send(response);
  };
  fastify.addHook('onRoute', (route) => {
    // First: other hooks of a route only prepare its handler.
    if (route.config?.respondsToKnownTokens === true) route.preHandler = [hook, route.preHandler ?? []].flat();
  });
}

/** Returns false if the handler's guards may have something to reject. */
function isUsual({ bodyFault, headers, originalUrl }: FastifyRequest): boolean {
  if (headers['x-api-key'] !== undefined) return false;
  return bodyFault === undefined && headers['content-encoding'] === undefined && !originalUrl.includes('?');
}

function findResponse(request: FastifyRequest, tokens: CheckTokenService): string | null {
  const { body = {} } = request as { body?: Record<string, unknown> };
  const [name, ...others] = Object.keys(body);
  if (name === undefined) {
    const token = findAccessToken(request);
    return token === null ? null : tokens.known(token, 'header');
  }
  const { token } = body;
  return typeof token === 'string' && others.length === 0 ? tokens.known(token, 'body') : null;
}
