import { type FieldError, type Limits, limitFault } from '../errors/app-error';
import type { RawQuery } from './filter';

/** Maximum length of a cursor. */
export const cursorMax = 1_024;

/** Reads single parameters and collects their errors. */
export class ParameterReader {
  constructor(
    private readonly query: RawQuery,
    private readonly errors: FieldError[],
  ) {}

  /** Returns the text of a parameter with 1 to `max` characters. */
  text(parameter: string, max: number): string | undefined {
    const value = this.query[parameter];
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value !== '' && value.length <= max) return value;
    const detail = `must be given once, with 1 to ${max} characters`;
    const params = { min: 1, max, unit: 'characters' };
    this.errors.push({ parameter, code: 'parameter.malformed', detail, params });
    return undefined;
  }

  /** Returns the value of a parameter, or `fallback`. */
  oneOf(parameter: string, values: readonly string[], fallback: string): string {
    const value = this.text(parameter, cursorMax);
    if (value === undefined || values.includes(value)) return value ?? fallback;
    this.reject(parameter, { allowed: values });
    return fallback;
  }

  /** Returns an integer from `min` to `max`. */
  integer(parameter: string, max: number, min = 1): number | undefined {
    const value = this.text(parameter, cursorMax);
    if (value === undefined) return undefined;
    const number = Number(value);
    if (/^(0|[1-9]\d{0,15})$/.test(value) && number >= min && number <= max) return number;
    return this.reject(parameter, { min, max });
  }

  private reject(parameter: string, limits: Limits): undefined {
    this.errors.push({ parameter, ...limitFault('parameter.malformed', limits) });
    return undefined;
  }
}
