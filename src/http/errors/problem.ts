import { HttpException } from '@nestjs/common';
import { AppError } from './app-error';
import { fromDatabaseError } from './database-error';
import { type ErrorCode, errorKind } from './error-codes';
import type { ProblemResponse } from './problem.dto';

/** Error codes for errors of Fastify and Nest, by Fastify's code or by HTTP status. */
const frameworkCodes: Record<string, ErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'request.too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'request.unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'request.invalid',
  FST_ERR_BAD_URL: 'request.not_found',
  '400': 'request.invalid',
  // The file server rejects a name that no file can have.
  '403': 'request.not_found',
  '404': 'request.not_found',
  '405': 'request.method_not_allowed',
  // The file server rejects conditions and ranges that a file does not meet with 412 and 416.
  '412': 'request.invalid',
  '413': 'request.too_large',
  '415': 'request.unsupported_media_type',
  '416': 'request.invalid',
};

/** Converts anything thrown to an `AppError`. Unexpected errors become `service.internal_error`. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const fromDatabase = fromDatabaseError(error);
  if (fromDatabase !== null) return fromDatabase;
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  const status = error instanceof HttpException ? error.getStatus() : statusCode;
  const known = frameworkCodes[code ?? ''] ?? frameworkCodes[String(status)];
  return new AppError(known ?? 'service.internal_error');
}

/**
 * Returns the body of an error response.
 * It contains only texts of the error table and of `AppError`, no internals (OWASP ASVS 16.5.1).
 */
export function toProblem(error: AppError, base: string, path: string, request_id: string): ProblemResponse {
  const { status, title, meaning } = errorKind(error.code);
  const { detail = meaning, errors, members } = error.extras;
  return {
    type: `${base}/docs/errors/${error.code}`,
    title,
    status,
    detail,
    instance: path,
    code: error.code,
    request_id,
    ...(errors === undefined ? {} : { errors }),
    ...members,
  };
}

/**
 * Returns the headers of an error response.
 * @param fresh_auth_seconds time in which an authentication is fresh, for the challenge
 */
export function problemHeaders(error: AppError, fresh_auth_seconds: number): Record<string, string> {
  const { status, retry_after_seconds } = errorKind(error.code);
  const retryAfter = error.extras.retry_after_seconds ?? retry_after_seconds;
  return {
    'content-type': 'application/problem+json; charset=utf-8',
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    ...(status === 401 ? { 'www-authenticate': challengeOf(error.code, fresh_auth_seconds) } : {}),
    ...error.extras.headers,
  };
}

/** Returns the challenge of a 401 (RFC 6750 §3, RFC 9470 §3). */
function challengeOf(code: ErrorCode, fresh_auth_seconds: number): string {
  if (code === 'auth.token_invalid' || code === 'auth.key_invalid') return 'Bearer error="invalid_token"';
  if (code === 'auth.reauthentication_required')
    return `Bearer error="insufficient_user_authentication", max_age="${fresh_auth_seconds}"`;
  return 'Bearer';
}

/**
 * Returns the path of a URL without the query and without the token of a link, so that it may be
 * logged and shown (OWASP ASVS 14.2.1).
 */
export function shownPath(url: string): string {
  return (url.split('?')[0] ?? '').replace(/\/(auth\/reset|auth\/email|user\/export(?!\/link$))\/[^/]+/, '/$1/{token}');
}
