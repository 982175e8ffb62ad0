import type { ErrorCode } from './operations.js';

/** One invalid field or parameter of a request. */
export interface FieldError {
  /** JSON pointer to a field of the body, such as `/email` */
  pointer?: string;
  /** name of a query parameter */
  parameter?: string;
  code: string;
  detail?: string;
  params?: Record<string, unknown>;
}

/** Body of an error response (RFC 9457), with members that only some codes have. */
export interface Problem {
  code: ErrorCode;
  status: number;
  title?: string;
  detail?: string;
  request_id?: string;
  errors?: FieldError[];
  /** with `auth.second_factor_required`: send it back with the second factor */
  challenge?: string;
  /** with `auth.second_factor_required`: seconds until `challenge` expires */
  expires_in?: number;
  /** with `auth.second_factor_required`: factors that the user can use */
  factors?: ('totp' | 'passkey' | 'recovery_code' | (string & {}))[];
}

/** A request that failed. `code` identifies the reason, `message` is for people. */
export class IdentityError extends Error {
  override readonly name = 'IdentityError';
  /** of the problem, or `client.unreachable`, `client.timeout`, `client.unexpected_response` */
  readonly code: ErrorCode;
  /** HTTP status; 0 without a response */
  readonly status: number;
  /** invalid fields and parameters */
  readonly errors: readonly FieldError[];

  constructor(
    readonly problem: Problem,
    /** seconds to wait before the next attempt, if the service said so */
    readonly retryAfter?: number,
    options?: ErrorOptions,
  ) {
    super(`${problem.code}: ${problem.detail ?? problem.title ?? `status ${problem.status}`}`, options);
    this.code = problem.code;
    this.status = problem.status;
    this.errors = problem.errors ?? [];
  }

  /** Whether the service did not decide: it is unreachable, overloaded or limits requests. */
  get unavailable(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Returns whether a token was rejected, in contrast to a failure to check it. */
export function isInvalidToken(error: unknown): boolean {
  return error instanceof IdentityError && error.code === 'auth.token_invalid';
}

/** Returns whether the service did not decide: it is unreachable, overloaded or limits requests. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof IdentityError && error.unavailable;
}
