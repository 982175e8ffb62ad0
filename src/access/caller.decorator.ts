import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { clientAddress } from '../platform/ip';
import type { Actor, Caller, Portal } from './actor';

declare module 'fastify' {
  interface FastifyRequest {
    /** actor of the request; the guard sets it on routes with `@Allow` */
    actor?: Actor;
    /** authorizes the request again; the guard sets it on routes with `waits` */
    reauthorize?: () => Promise<Actor>;
    /** portal that forwards the request; the guard sets it on routes for portals */
    portal?: Portal;
  }
}

const userAgentMax = 512;

/**
 * Returns the origin of a request. Truncates the user agent and removes control characters, because
 * the client chooses this text.
 */
export function callerOf(request: FastifyRequest): Caller {
  const user_agent = request.headers['user-agent']?.replace(/\p{Cc}/gu, '').slice(0, userAgentMax);
  return {
    ip: clientAddress(request.ip),
    user_agent: user_agent === undefined || user_agent === '' ? null : user_agent.toWellFormed(),
    request_id: request.id,
    ...(request.portal && { portal: request.portal }),
  };
}

/** Injects the actor of the request into a handler. */
export const CurrentActor = createParamDecorator((_data: unknown, context: ExecutionContext): Actor => {
  const actor = context.switchToHttp().getRequest<FastifyRequest>().actor;
  if (actor === undefined) throw new Error('CurrentActor on a route without @Allow');
  return actor;
});

/**
 * Injects a function that authorizes the request again and returns the actor with current rights.
 * For handlers that wait, because the rights may be revoked meanwhile (C1).
 */
export const Reauthorize = createParamDecorator((_data: unknown, context: ExecutionContext): (() => Promise<Actor>) => {
  const { reauthorize } = context.switchToHttp().getRequest<FastifyRequest>();
  if (reauthorize === undefined) throw new Error('Reauthorize on a route without `waits`');
  return reauthorize;
});

/** Injects the origin of the request into a handler. */
export const CurrentCaller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller =>
  callerOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
