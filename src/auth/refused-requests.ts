import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { AppError } from '../http/errors/app-error';
import { errorKind } from '../http/errors/error-codes';
import { CONFIG, type Config } from '../platform/config/config';
import { AddressLimitsService } from '../access/rate-limits/address-limits.service';
import { findAccessToken } from './tokens/request-tokens';
import { VerifiedTokens } from './tokens/verified-tokens';

declare module 'fastify' {
  interface FastifyRequest {
    /** set once the request is counted against a limit of its address */
    counted?: true;
  }
}

/** Routes that monitoring, modules and browsers call often and without a token. */
const exempt = /^\/(?:health\/|metrics$|console(?:\/|$)|\.well-known\/jwks\.json$)/;

/**
 * Counts rejected requests without a valid token against the limit of their address, regardless of
 * the reason: an unknown path, a wrong method or a body that is too large costs time too (H30).
 */
@Injectable()
export class RefusedRequests {
  constructor(
    private readonly limits: AddressLimitsService,
    private readonly tokens: VerifiedTokens,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Counts a request once. Returns its error, or `request.rate_limited` beyond the limit. */
  async errorFor(error: AppError, request: FastifyRequest): Promise<AppError> {
    if (request.counted === true || request.actor !== undefined || this.isExempt(error, request)) return error;
    return this.limits.countRequest(request).then(
      () => error,
      (limited: AppError) => limited,
    );
  }

  /**
   * Returns whether a request does not count: an exempt route, a valid token in the header, or a
   * fault of the service (5xx). A rejected token in the body counts even if the header has a valid
   * token, because a module sends the tokens of its clients.
   */
  private isExempt(error: AppError, request: FastifyRequest): boolean {
    const { url = '' } = request.routeOptions;
    if (errorKind(error.code).status >= 500 || exempt.test(url.slice(this.config.BASE_PATH.length))) return true;
    const { token: checked } = (request.body ?? {}) as { token?: unknown };
    const token = checked === undefined ? findAccessToken(request) : null;
    return token !== null && this.tokens.known(token) !== null;
  }
}
