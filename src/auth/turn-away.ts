import type { FastifyInstance, preValidationHookHandler } from 'fastify';
import { AppError } from '../common/errors/app-error';
import type { LoginsService } from '../logins/logins.service';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * the route tries a password, and nothing else: whoever comes while there is no room is turned
     * away before anything is asked
     */
    triesPassword?: boolean;
  }
}

/**
 * Turns a flood of logins away at the door: what it costs to say no decides how long everybody else
 * waits.
 */
export function turnAwayEarly(fastify: FastifyInstance, passwords: LoginsService): void {
  const hook: preValidationHookHandler = (_request, _reply, done) =>
    done(passwords.isFull ? new AppError('service.overloaded') : undefined);
  fastify.addHook('onRoute', (route) => {
    if (route.config?.triesPassword === true) route.preValidation = [route.preValidation ?? [], hook].flat();
  });
}
