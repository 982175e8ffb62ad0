import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { canonicalEmail } from '../../http/fields/email-address';
import { ConflictLimitService, visibleScope } from '../../access/rate-limits/conflict-limit.service';
import { UsersRepository } from '../users.repository';

interface UniqueValues {
  name?: string;
  email?: string;
}

/**
 * Limits requests whose response reveals whether a name or address is taken (B25). Never limits
 * changes of other fields.
 */
@Injectable()
export class ConflictLimitInterceptor implements NestInterceptor {
  constructor(
    private readonly conflicts: ConflictLimitService,
    private readonly users: UsersRepository,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { actor, body, method, params } = context.switchToHttp().getRequest<FastifyRequest>();
    if (actor === undefined) throw new Error('ConflictLimitInterceptor on a route without @Allow');
    const { user_id } = params as { user_id?: string };
    const sent = (body ?? {}) as UniqueValues;
    if (method === 'PATCH' && sent.name === undefined && sent.email === undefined) return next.handle();
    const isHidden = async (code: string) => {
      const scope = visibleScope(actor);
      if (scope === null) return true;
      // A restore ignores its body and may conflict with the name and address of the deleted user.
      const isRestore = method === 'POST' && user_id !== undefined;
      const values: UniqueValues | null = isRestore ? await this.users.findWithDeleted(user_id, actor) : sent;
      const { name = '', email = '' } = values ?? {};
      return (await this.users.findByLogin(code === 'user.name_taken' ? name : canonicalEmail(email), scope)) === null;
    };
    const work = () => lastValueFrom(next.handle() as Observable<unknown>);
    return from(this.conflicts.limit(actor, work, isHidden));
  }
}
