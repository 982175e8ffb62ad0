import { type ErrorCode, errorKind } from './error-codes';

/** One wrong field (`pointer`, RFC 6901) or query parameter (`parameter`). */
export interface FieldError {
  /** JSON pointer into the body, such as `/email` */
  pointer?: string;
  /** name of a query parameter or header */
  parameter?: string;
  /** stable code such as `field.required` or `password.too_short` */
  code: string;
  /** what is wrong, for a person; never repeats the value, which may be a secret */
  detail: string;
}

/** What an occurrence of an error adds to its kind. */
export interface ErrorExtras {
  /** what is wrong this time, for a person */
  detail?: string;
  /** each bad field or parameter */
  errors?: FieldError[];
  /** seconds until it is worth trying again */
  retry_after_seconds?: number;
  /** more headers of the answer, such as `Allow` */
  headers?: Record<string, string>;
}

/** A refusal on purpose. The problem filter turns it into `application/problem+json` (RFC 9457). */
export class AppError extends Error {
  constructor(
    readonly code: ErrorCode,
    readonly extras: ErrorExtras = {},
  ) {
    super(`${code}: ${extras.detail ?? errorKind(code).title}`);
  }
}

/** The refusal of one or more bad fields. */
export function invalid(...errors: FieldError[]): AppError {
  return new AppError('request.invalid', { errors });
}
