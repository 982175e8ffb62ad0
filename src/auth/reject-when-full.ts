import type { FastifyInstance, preValidationHookHandler } from 'fastify';
import { AppError } from '../http/errors/app-error';
import { logins } from './login/logins.metrics';
import type { LoginsService } from './login/logins.service';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * the route does nothing but verify a password; it is rejected early while the login queue is
     * full
     */
    triesPassword?: boolean;
  }
}

/**
 * Rejects logins before Nest's handler runs while the login queue is full.
 * During a flood, the cost of a rejection decides how long all other requests wait (L13).
 */
export function rejectWhenFull(fastify: FastifyInstance, passwords: LoginsService): void {
  const hook: preValidationHookHandler = (_request, _reply, done) => {
    if (!passwords.isFull) return done();
    logins.inc({ outcome: 'overloaded' });
    done(new AppError('service.overloaded'));
  };
  fastify.addHook('onRoute', (route) => {
    if (route.config?.triesPassword === true) route.preValidation = [route.preValidation ?? [], hook].flat();
  });
}
