import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

/** Injects a signal that is aborted if the client disconnects before the response is complete. */
export const ClientGone = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  clientGone(context.switchToHttp().getResponse<FastifyReply>()),
);

/** Returns a signal that is aborted if the client disconnects before the response is complete. */
export function clientGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (raw.destroyed) gone.abort();
  // Also fires after a complete response, but nothing listens then.
  raw.once('close', () => gone.abort());
  return gone.signal;
}
