import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { catchError, type Observable } from 'rxjs';
import { accessRule, type AccessRule } from '../access/allow.decorator';
import { AppError } from '../common/errors/app-error';
import { AddressLimits } from './address-limits';

/** Public routes with the limit `failures` take tokens: whoever comes without a good one counts against the limit of their address, as in the guard. */
@Injectable()
export class FailureLimitInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly limits: AddressLimits,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const rule = this.reflector.get<AccessRule | undefined>(accessRule, context.getHandler());
    if (rule?.limit !== 'failures') return next.handle();
    const { ip } = context.switchToHttp().getRequest<FastifyRequest>();
    return next.handle().pipe(catchError((error: unknown) => this.refuse(error, ip)));
  }

  private async refuse(error: unknown, ip: string): Promise<never> {
    if (error instanceof AppError) await this.limits.countRequest(ip);
    throw error;
  }
}
