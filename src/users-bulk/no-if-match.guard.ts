import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { invalid } from '../common/errors/app-error';

/**
 * A version belongs to one user: on many it means nothing, and ignoring it would do more than the
 * caller wants.
 */
@Injectable()
export class NoIfMatchGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<FastifyRequest>();
    if (headers['if-match'] !== undefined)
      throw invalid({ parameter: 'If-Match', code: 'parameter.not_allowed', detail: 'is not for found users' });
    return true;
  }
}
