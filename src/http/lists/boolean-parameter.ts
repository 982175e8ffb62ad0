import { type FieldError, limitFault } from '../errors/app-error';
import type { RawQuery } from './filter';

/**
 * Reads a boolean query parameter. An absent parameter is false.
 * @param errors receives the error of a wrong value; omit it if the request-rules guard checked it
 * @param allowed `['true']` for a parameter that can only be set
 */
export function readBoolean(
  query: RawQuery,
  parameter: string,
  errors: FieldError[] = [],
  allowed: readonly string[] = ['true', 'false'],
): boolean {
  const value = query[parameter];
  if (value !== undefined && (typeof value !== 'string' || !allowed.includes(value)))
    errors.push({ parameter, ...limitFault('parameter.malformed', { allowed }) });
  return value === 'true';
}
