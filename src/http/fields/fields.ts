import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { type Fault, limitFault } from '../errors/app-error';
import { readValue } from '../lists/filter-value';
import { patternOf, storableText, timeForm, visibleText } from '../../platform/text-forms';
import { forbiddenKeys } from '../bodies/body-parsers';
import { canonicalEmail, emailForm, isEmailAddress } from './email-address';
import { type FieldRules, type Rule, ValidateRules } from './field-rules';

/** Options of every request field. */
export interface FieldOptions {
  /** allows the field to be absent */
  optional?: boolean;
  /** allows null, which clears the field (RFC 7396) */
  nullable?: boolean;
  /** example in the OpenAPI document */
  example?: unknown;
}

/** Limits of a text field, in Unicode code points. */
export interface TextOptions extends FieldOptions {
  min?: number;
  max: number;
  /** pattern of the whole text, in its canonical form */
  pattern?: RegExp;
  /** error detail for a text that does not match the pattern */
  form?: string;
  /** the only values of the field */
  values?: readonly string[];
  /** further test with its error detail; `code` replaces `field.malformed` */
  test?: { check: (text: string) => boolean; wants: string; code?: 'field.not_allowed' };
  /** accepts any character but NUL, as in passwords; otherwise the text must be `visibleText` */
  raw?: boolean;
  /** `format` in the OpenAPI document */
  format?: string;
}

/** Maximum number of significant digits of a double in JSON. */
const significantDigits = 17;

/**
 * Declares a text field.
 * Counts the length in code points, because libraries overlook variation selectors
 * (CVE-2025-12758).
 */
export function TextField(options: TextOptions): PropertyDecorator {
  return field(options, textSchema(options), textRules(options));
}

/** Declares a field that is a list of distinct texts. */
export function TextListField(options: TextOptions & { minItems?: number; maxItems: number }): PropertyDecorator {
  const { minItems = 0, maxItems, optional = false } = options;
  const limits = { ...(minItems === 0 ? {} : { minItems }), maxItems, uniqueItems: true };
  const items = textSchema(options) as never;
  const schema: ApiPropertyOptions = { type: 'array', items, ...limits, ...omitted(optional) };
  const list = (check: (items: unknown[]) => boolean) => (value: unknown) => Array.isArray(value) && check(value);
  const rules: Rule[] = [
    { code: 'field.wrong_type', detail: 'must be an array', passes: Array.isArray },
    { ...limitFault('field.too_many', { max: maxItems }), passes: list(({ length }) => length <= maxItems) },
    { ...limitFault('field.too_few', { min: minItems }), passes: list(({ length }) => length >= minItems) },
    {
      code: 'field.malformed',
      detail: 'must not contain duplicates',
      passes: list((items) => new Set(items).size === items.length),
    },
    ...textRules(options).map(({ passes, ...fault }) => ({ ...fault, passes: list((items) => items.every(passes)) })),
  ];
  return field(options, schema, rules);
}

/** Declares an e-mail address, which is validated in its canonical form. */
export function EmailField(options: FieldOptions = {}): PropertyDecorator {
  const text: TextOptions = {
    ...options,
    min: 3,
    max: 254,
    format: 'email',
    pattern: emailForm,
    form: 'must be an e-mail address',
    test: { check: isEmailAddress, wants: 'must be an e-mail address' },
  };
  const canonical = (value: unknown) => (typeof value === 'string' ? canonicalEmail(value) : value);
  return field(text, textSchema(text), textRules(text), canonical);
}

const timeWants = 'must be an RFC 3339 time such as 2026-11-20T13:00:00Z';

/** Declares an RFC 3339 time, which is converted to UTC and milliseconds, as times are stored. */
export function TimeField(options: FieldOptions = {}): PropertyDecorator {
  const isTime = (text: string) => 'value' in readValue(text, { type: 'time' });
  const text: TextOptions = {
    ...options,
    max: 35,
    format: 'date-time',
    pattern: timeForm,
    form: timeWants,
    test: { check: isTime, wants: timeWants },
  };
  const canonical = (value: unknown) =>
    typeof value === 'string' && isTime(value) ? new Date(value).toISOString() : value;
  return field(text, textSchema(text), textRules(text), canonical);
}

/** Declares a boolean. Rejects the texts "true" and "false". */
export function BooleanField(options: FieldOptions = {}): PropertyDecorator {
  return field(options, { type: 'boolean' }, [
    { code: 'field.wrong_type', detail: 'must be true or false', passes: (value) => typeof value === 'boolean' },
  ]);
}

/** Declares an integer within limits. */
export function IntegerField(options: FieldOptions & { min: number; max: number }): PropertyDecorator {
  const { min, max } = options;
  const isWithin = (value: unknown) => typeof value === 'number' && value >= min && value <= max;
  return field(options, { type: 'integer', format: 'int32', minimum: min, maximum: max }, [
    { code: 'field.wrong_type', detail: 'must be an integer', passes: Number.isInteger },
    { code: 'field.not_allowed', detail: `must be between ${min} and ${max}`, passes: isWithin },
  ]);
}

/** Does not describe the values, because a recursive schema would break generated types. */
const jsonObject = { type: 'object', additionalProperties: true, propertyNames: { not: { enum: forbiddenKeys } } };

/** Declares a free JSON object with limits on its levels and on all of its keys. */
export function JsonObjectField(
  options: FieldOptions & { maxBytes: number; maxDepth: number; maxKeys: number },
): PropertyDecorator {
  const { maxBytes, maxDepth, maxKeys } = options;
  const rules: Rule[] = [
    {
      code: 'field.wrong_type',
      detail: 'must be an object',
      passes: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    },
    {
      ...limitFault('field.too_deep', { max: maxDepth, unit: 'levels' }),
      passes: (value) => depthWithin(value, maxDepth),
    },
    {
      ...limitFault('field.too_many', { max: maxKeys, unit: 'keys' }),
      passes: (value) => keysOf(value) <= maxKeys,
    },
    {
      ...limitFault('field.too_long', { max: maxBytes, unit: 'bytes' }),
      passes: (value) => Buffer.byteLength(JSON.stringify(value, writtenOut)) <= maxBytes,
    },
  ];
  // class-transformer drops keys with the name of an object method, such as `toString`.
  const asSent = Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) => obj[key]);
  const schema = { ...jsonObject, ...omitted(options.optional) } as ApiPropertyOptions;
  return applyDecorators(asSent, field(options, schema, rules));
}

/**
 * Returns the schema extension of an optional list or object. Without it, Java clients of
 * openapi-generator send `[]` or `{}` for a field that was not set.
 */
function omitted(optional = false): object {
  return optional ? { 'x-nullable': true } : {};
}

function field(
  { optional = false, nullable = false, example }: FieldOptions,
  schema: ApiPropertyOptions,
  rules: Rule[],
  canonical?: FieldRules['canonical'],
): PropertyDecorator {
  const documented = {
    ...schema,
    required: !optional,
    ...(nullable ? { nullable } : {}),
    ...(example === undefined ? {} : { example }),
  } as ApiPropertyOptions;
  return applyDecorators(
    ApiProperty(documented),
    ValidateRules({ optional, nullable, rules, canonical }),
    ...(canonical === undefined ? [] : [Transform(({ value }: { value: unknown }) => canonical(value))]),
  );
}

function textSchema({ min, max, pattern, values, format, raw }: TextOptions): ApiPropertyOptions {
  const limits = {
    ...(min === undefined ? {} : { minLength: min }),
    maxLength: max,
    ...(format === undefined ? {} : { format }),
  };
  return {
    type: 'string',
    ...limits,
    ...(values === undefined
      ? { pattern: patternOf(pattern ?? (raw === true ? storableText : visibleText)) }
      : { enum: [...values] }),
  };
}

function textRules(options: TextOptions): Rule[] {
  const { min = 0, max, pattern, form, values, test, raw = false } = options;
  const rule = (fault: Fault, check: (value: string) => boolean): Rule => ({
    ...fault,
    passes: (value) => typeof value === 'string' && check(value),
  });
  const characters = raw ? 'must not contain NUL' : 'must not contain control or invisible characters';
  const rules = [
    rule({ code: 'field.wrong_type', detail: 'must be a string' }, () => true),
    rule(limitFault('field.too_long', { max }), (value) => value.length <= max * 2 && [...value].length <= max),
    rule(limitFault('field.too_short', { min }), (value) => [...value].length >= min),
    rule({ code: 'field.malformed', detail: characters }, (value) => (raw ? storableText : visibleText).test(value)),
  ];
  if (values !== undefined)
    rules.push(rule(limitFault('field.not_allowed', { allowed: values }), (value) => values.includes(value)));
  if (pattern !== undefined) {
    const detail = form ?? 'must match the pattern of the field';
    rules.push(rule({ code: 'field.malformed', detail }, (value) => pattern.test(value)));
  }
  if (test !== undefined) rules.push(rule({ code: test.code ?? 'field.malformed', detail: test.wants }, test.check));
  return rules;
}

/** Writes out the zeros of a tiny number: PostgreSQL stores 1e-300 with all of them. */
function writtenOut(_key: string, value: unknown): unknown {
  const size = typeof value === 'number' ? Math.abs(value) : 1;
  return size > 0 && size < 1e-6 ? '0'.repeat(Math.ceil(-Math.log10(size)) + significantDigits) : value;
}

function depthWithin(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return left > 0 && Object.values(value).every((inner) => depthWithin(inner, left - 1));
}

function keysOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, inner) => sum + keysOf(inner), own);
}
