import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { ConflictLimitService } from './conflict-limit.service';

/**
 * Rate-limits requests whose response reveals whether a name or address is taken (B25). Never
 * limits changes of other fields.
 */
@Injectable()
export class ConflictLimitInterceptor implements NestInterceptor {
  constructor(private readonly conflicts: ConflictLimitService) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { actor, body, method } = context.switchToHttp().getRequest<FastifyRequest>();
    if (actor === undefined) throw new Error('ConflictLimitInterceptor on a route without @Allow');
    // PATCH only: a restore ignores its body and may conflict with a taken name or address.
    if (method === 'PATCH' && changesOtherFields(body)) return next.handle();
    return from(this.conflicts.limit(actor, () => lastValueFrom(next.handle() as Observable<unknown>)));
  }
}

/** Returns whether a request has a body without a name and without an address. */
function changesOtherFields(body: unknown): boolean {
  return typeof body === 'object' && body !== null && !Object.hasOwn(body, 'name') && !Object.hasOwn(body, 'email');
}
