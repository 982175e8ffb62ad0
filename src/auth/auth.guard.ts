import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard as PassportAuthGuard } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import type { Actor } from '../access/actor';
import { accessRule, type AccessRule } from '../access/allow.decorator';
import { holds } from '../access/permissions';
import { AppError } from '../common/errors/app-error';
import { accessTokenFrom } from './access-token-header';
import { AddressLimits } from './address-limits';

/** The global guard. It refuses whatever does not say who may call it; `@Public()` is the only way around a login. */
@Injectable()
export class AuthGuard extends PassportAuthGuard('jwt') implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly limits: AddressLimits,
  ) {
    super();
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const rule = this.reflector.get<AccessRule | undefined>(accessRule, context.getHandler());
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (rule === undefined) throw new AppError('access.denied');
    if (rule.login === null) return this.admitPublic(rule, request.ip);
    request.actor = await this.authenticate(context, request);
    assertAllowed(rule, request.actor, request.params as Record<string, string>);
    if (rule.limit === 'login') await this.limits.countLogin(request.ip);
    return true;
  }

  /** Called by passport with what the strategy found. */
  override handleRequest<User>(error: unknown, user: User | false): User {
    if (error !== null && error !== undefined) throw error as Error;
    if (user === false) throw new AppError('auth.token_invalid');
    return user;
  }

  private async admitPublic(rule: AccessRule, ip: string): Promise<boolean> {
    if (rule.limit === 'login') await this.limits.countLogin(ip);
    if (rule.limit === 'requests') await this.limits.countRequest(ip);
    return true;
  }

  /** Whoever comes without a good token counts against the limit of their address. */
  private async authenticate(context: ExecutionContext, request: FastifyRequest): Promise<Actor> {
    try {
      if (accessTokenFrom(request.raw) === null) throw new AppError('auth.token_missing');
      await super.canActivate(context);
      return (request as FastifyRequest & { user: Actor }).user;
    } catch (error) {
      if (error instanceof AppError) await this.limits.countRequest(request.ip);
      throw error;
    }
  }
}

function assertAllowed(rule: AccessRule, actor: Actor, parameters: Record<string, string>): void {
  if (actor.must_change_password && rule.duringPasswordChange !== true) throw new AppError('auth.password_change_required');
  if (rule.permission === undefined || holds(actor.permissions, rule.permission)) return;
  const isSelf = rule.orSelf !== undefined && parameters[rule.orSelf]?.toLowerCase() === actor.user_id;
  if (!isSelf) throw new AppError('access.denied', { detail: `The permission ${rule.permission} is missing.` });
}
