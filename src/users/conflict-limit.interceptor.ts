import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { UserConflictsService } from './user-conflicts.service';

/**
 * Limits the requests of an actor that tell whether a name or address is taken. A change that names
 * neither always passes.
 */
@Injectable()
export class ConflictLimitInterceptor implements NestInterceptor {
  constructor(private readonly conflicts: UserConflictsService) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { actor, body } = context.switchToHttp().getRequest<FastifyRequest>();
    if (actor === undefined) throw new Error('ConflictLimitInterceptor on a route without @Allow');
    if (isSilent(body)) return next.handle();
    return from(this.conflicts.limit(actor, () => lastValueFrom(next.handle() as Observable<unknown>)));
  }
}

/** Tells whether a request changes fields, and neither the name nor the address. */
function isSilent(body: unknown): boolean {
  return typeof body === 'object' && body !== null && !Object.hasOwn(body, 'name') && !Object.hasOwn(body, 'email');
}
