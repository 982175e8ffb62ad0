import { type ErrorCode, errorKind } from './error-codes';

/** One wrong field (`pointer`, RFC 6901) or parameter (`parameter`), or a missing permission. */
export interface FieldError {
  /** JSON pointer into the body, such as `/email` */
  pointer?: string;
  /** name of a query parameter or header */
  parameter?: string;
  /** stable code such as `field.required` or `password.too_short` */
  code: string;
  /** explanation for people; never contains the value, which may be a secret */
  detail: string;
  /** values in `detail`, such as `{ max: 64 }`, for clients that translate `code`; no secrets */
  params?: Record<string, string | number>;
  /** what makes a password easy to guess, as stable keys; only with `password.too_weak` */
  hints?: string[];
}

/** Details of one occurrence of an error. */
export interface ErrorExtras {
  /** explanation of this occurrence, for people */
  detail?: string;
  /** each invalid field or parameter */
  errors?: FieldError[];
  /** seconds to wait before a retry */
  retry_after_seconds?: number;
  /** additional response headers, such as `Allow` */
  headers?: Record<string, string>;
  /** additional members of the body (RFC 9457 §3.2), documented in `document-problems.ts` */
  members?: Record<string, unknown>;
}

/** An expected error. The problem filter responds with `application/problem+json` (RFC 9457). */
export class AppError extends Error {
  constructor(
    readonly code: ErrorCode,
    readonly extras: ErrorExtras = {},
  ) {
    super(`${code}: ${extras.detail ?? errorKind(code).title}`);
  }
}

const errorsMax = 20;

/** Creates the error for invalid fields or parameters. Names the first 20 and counts the others. */
export function invalid(...errors: FieldError[]): AppError {
  const omitted = errors.length - errorsMax;
  const members = omitted > 0 ? { members: { errors_omitted: omitted } } : {};
  return new AppError('request.invalid', { errors: errors.slice(0, errorsMax), ...members });
}
