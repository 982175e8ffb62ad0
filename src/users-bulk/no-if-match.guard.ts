import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { invalid } from '../common/errors/app-error';

/**
 * Rejects `If-Match` on bulk changes. A version belongs to one user. Ignoring the header would
 * change more than the caller wants.
 */
@Injectable()
export class NoIfMatchGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<FastifyRequest>();
    if (headers['if-match'] !== undefined)
      throw invalid({
        parameter: 'If-Match',
        code: 'parameter.not_allowed',
        detail: 'is not supported for bulk changes',
      });
    return true;
  }
}
