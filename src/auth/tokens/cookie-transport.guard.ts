import type { IncomingHttpHeaders } from 'node:http';
import { type CanActivate, createParamDecorator, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../http/errors/app-error';
import { CONFIG, type Config } from '../../platform/config/config';
import { originOf } from '../../platform/config/webauthn';
import { RefreshCookie } from './refresh-cookie';

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
    if (!isSameOrigin(request.headers, this.config.PUBLIC_URL)) throw new AppError('auth.cross_origin');
    const reply = http.getResponse<FastifyReply>();
    request.refreshCookie = new RefreshCookie(
      this.config,
      request.headers.cookie,
      (cookie) => void reply.header('set-cookie', cookie),
    );
    return true;
  }
}

/**
 * Returns whether a page of the service itself sent the request.
 * Browsers send `Sec-Fetch-Site` only to HTTPS and localhost. Without it, `Origin` decides.
 * @see https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header
 */
function isSameOrigin({ 'sec-fetch-site': site, origin }: IncomingHttpHeaders, publicUrl: string): boolean {
  return site === undefined ? origin === originOf(publicUrl) : site === 'same-origin';
}

/** Injects the cookie of a request with `transport: "cookie"`, or null. */
export const CurrentRefreshCookie = createParamDecorator(
  (_data: unknown, context: ExecutionContext): RefreshCookie | null =>
    context.switchToHttp().getRequest<FastifyRequest>().refreshCookie ?? null,
);
