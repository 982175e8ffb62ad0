import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { clientAddress } from '../common/ip';
import type { Actor, Caller } from './actor';

declare module 'fastify' {
  interface FastifyRequest {
    /** set by the guard on routes with `@Allow` */
    actor?: Actor;
  }
}

const userAgentMax = 512;

/**
 * Where a request comes from; the user agent is cut and cleaned, since it is the sender's free
 * text.
 */
export function callerOf(request: FastifyRequest): Caller {
  const user_agent = request.headers['user-agent']?.replace(/\p{Cc}/gu, '').slice(0, userAgentMax);
  return {
    ip: clientAddress(request.ip),
    user_agent: user_agent === undefined || user_agent === '' ? null : user_agent.toWellFormed(),
    request_id: request.id,
  };
}

/** The logged-in user of the request, as a handler's parameter. */
export const CurrentActor = createParamDecorator((_data: unknown, context: ExecutionContext): Actor => {
  const actor = context.switchToHttp().getRequest<FastifyRequest>().actor;
  if (actor === undefined) throw new Error('CurrentActor on a route without @Allow');
  return actor;
});

/** Where the request comes from, as a handler's parameter. */
export const CurrentCaller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller =>
  callerOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
