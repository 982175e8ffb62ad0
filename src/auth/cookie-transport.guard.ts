import { type CanActivate, createParamDecorator, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../common/errors/app-error';
import { CONFIG, type Config } from '../config/config';
import { isSameOrigin, RefreshCookie } from './refresh-cookie';

declare module 'fastify' {
  interface FastifyRequest {
    /** cookie of a request with `transport: "cookie"`; `CookieTransportGuard` sets it */
    refreshCookie?: RefreshCookie;
  }
}

/**
 * Allows requests with `transport: "cookie"` only from pages of the service itself, before anything
 * sets or uses the cookie. Other origins get 403, including those in `CORS_ORIGINS` (H22).
 */
@Injectable()
export class CookieTransportGuard implements CanActivate {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const { transport } = (request.body ?? {}) as { transport?: unknown };
    if (transport !== 'cookie') return true;
    if (!isSameOrigin(request.headers, this.config)) throw new AppError('auth.cross_origin');
    const reply = http.getResponse<FastifyReply>();
    request.refreshCookie = new RefreshCookie(
      this.config,
      request.headers.cookie,
      (cookie) => void reply.header('set-cookie', cookie),
    );
    return true;
  }
}

/** Injects the cookie of a request with `transport: "cookie"`, or null. */
export const CurrentRefreshCookie = createParamDecorator(
  (_data: unknown, context: ExecutionContext): RefreshCookie | null =>
    context.switchToHttp().getRequest<FastifyRequest>().refreshCookie ?? null,
);
