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
  // Also fires after a complete response. An abort creates an error with a stack (10 µs).
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
