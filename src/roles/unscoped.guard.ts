import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../common/errors/app-error';

/** Lets only System Users without scope through: what concerns every carrier is not for those who see some. After the global guard. */
@Injectable()
export class UnscopedGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { actor } = context.switchToHttp().getRequest<FastifyRequest>();
    if (actor?.user_type === 'system' && actor.carrier_scope === null) return true;
    throw new AppError('access.denied', { detail: 'This is for System Users without carrier_scope.' });
  }
}
