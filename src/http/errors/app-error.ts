import { type ErrorCode, errorKind } from './error-codes';
import type { FieldErrorResponse } from './problem.dto';

/** One wrong field or parameter, or a missing permission. Never contains a secret value. */
export type FieldError = FieldErrorResponse;

/** The error of a value, without the name of its field or parameter. */
export type Fault = Omit<FieldError, 'pointer' | 'parameter'>;

/** Units of limits, with the words of `detail`. */
const units = {
  characters: 'characters',
  bytes: 'bytes as JSON',
  items: 'items',
  keys: 'keys, including nested keys',
  levels: 'levels',
  fields: 'fields',
  parameters: 'parameters',
  values: 'values',
  cells: 'cells',
  words: 'words',
};

/** Limits of a value. `limitFault` builds `detail` from them. */
export interface Limits {
  min?: number;
  max?: number;
  /**
   * what `min` and `max` count; by default characters for `too_long` and `too_short`, otherwise
   * items. Without a unit, `min` and `max` together limit an integer.
   */
  unit?: keyof typeof units;
  /** all accepted values */
  allowed?: readonly string[];
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

/** Returns the fault of a value outside its limits. `detail` contains the values of `params`. */
export function limitFault(code: string, limits: Limits): Fault {
  return { code, detail: sentenceOf(code, limits), params: { ...limits } };
}

/** Returns the fault of a parameter that cannot be combined with another parameter. */
export function conflictWith(parameter: string): Fault {
  return { code: 'parameter.conflict', detail: `cannot be combined with ${parameter}`, params: { parameter } };
}

function sentenceOf(code: string, { min, max, unit, allowed }: Limits): string {
  if (allowed !== undefined)
    return allowed.length > 2 ? `must be one of ${allowed.join(', ')}` : `must be ${allowed.join(' or ')}`;
  const text = units[unit ?? (/too_(long|short)$/.test(code) ? 'characters' : 'items')];
  if (min !== undefined && max !== undefined)
    return unit === undefined ? `must be an integer from ${min} to ${max}` : `must have ${min} to ${max} ${text}`;
  const limit = min ?? max;
  return `must have at ${min === undefined ? 'most' : 'least'} ${limit} ${limit === 1 ? text.replace('s', '') : text}`;
}

const errorsMax = 20;

/** Creates the error for invalid fields or parameters. Names the first 20 and counts the others. */
export function invalid(...errors: FieldError[]): AppError {
  const omitted = errors.length - errorsMax;
  const members = omitted > 0 ? { members: { errors_omitted: omitted } } : {};
  return new AppError('request.invalid', { errors: errors.slice(0, errorsMax), ...members });
}
