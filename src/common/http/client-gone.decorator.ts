import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

/**
 * A signal that is aborted when the client goes away before it has the whole answer, as a handler's
 * parameter.
 */
export const ClientGone = createParamDecorator((_data: unknown, context: ExecutionContext): AbortSignal => {
  const { raw } = context.switchToHttp().getResponse<FastifyReply>();
  const gone = new AbortController();
  if (raw.destroyed) gone.abort();
  // after the end of an answer too: by then nothing listens
  raw.once('close', () => gone.abort());
  return gone.signal;
});
