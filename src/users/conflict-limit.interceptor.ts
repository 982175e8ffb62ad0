import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import type { Actor } from '../access/actor';
import { canonicalEmail } from '../common/http/email-address';
import { ConflictLimitService, visibleScope } from '../rate-limits/conflict-limit.service';
import { UsersRepository } from './users.repository';

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
    // A restore ignores its body and may conflict with the name and address of the deleted user.
    const restored = method === 'POST' && user_id !== undefined ? user_id : null;
    const sent = (body ?? {}) as UniqueValues;
    if (method === 'PATCH' && sent.name === undefined && sent.email === undefined) return next.handle();
    const work = () => lastValueFrom(next.handle() as Observable<unknown>);
    return from(
      this.conflicts.limit(actor, work, async (code) =>
        this.isHidden(actor, code, restored === null ? sent : await this.users.findWithDeleted(restored, actor)),
      ),
    );
  }

  /** Returns whether the actor cannot see the user who has the name or address. */
  private async isHidden(actor: Actor, code: string, values: UniqueValues | null): Promise<boolean> {
    const scope = visibleScope(actor);
    const { name = '', email = '' } = values ?? {};
    const login = code === 'user.name_taken' ? name : canonicalEmail(email);
    return scope === null || (await this.users.findByLogin(login, scope)) === null;
  }
}
