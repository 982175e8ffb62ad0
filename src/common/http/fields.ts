import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy, ValidateIf } from 'class-validator';
import { patternOf, storableText, visibleText } from '../text-forms';
import { forbiddenKeys } from './body-parsers';
import { canonicalEmail, emailForm, isEmailAddress } from './email-address';
import { type FieldRules, type Rule, registerField } from './field-rules';

/** What every request field can say of itself. */
export interface FieldOptions {
  /** may be absent */
  optional?: boolean;
  /** may be null, which clears the field (RFC 7396) */
  nullable?: boolean;
  /** shown in the document */
  example?: unknown;
}

/** Limits of a text field, in Unicode code points. */
export interface TextOptions extends FieldOptions {
  min?: number;
  max: number;
  /** the whole text must match, in its canonical form */
  pattern?: RegExp;
  /** what the pattern wants, for a person */
  form?: string;
  values?: readonly string[];
  /**
   * further test with what it wants, for a person; `code` where the form is right and the value is
   * not
   */
  test?: { check: (text: string) => boolean; wants: string; code?: 'field.not_allowed' };
  /** accepts any character but NUL, as in passwords; otherwise `visibleText` decides */
  raw?: boolean;
  format?: string;
}

/** Of a double, as JSON writes it. */
const significantDigits = 17;

/**
 * A text field. Length is counted in code points by ourselves: libraries overlook variation
 * selectors (CVE-2025-12758).
 */
export function TextField(options: TextOptions): PropertyDecorator {
  return field(options, textSchema(options), textRules(options));
}

/** A list of different texts. */
export function TextListField(options: TextOptions & { minItems?: number; maxItems: number }): PropertyDecorator {
  const { minItems = 0, maxItems } = options;
  const limits = { ...(minItems === 0 ? {} : { minItems }), maxItems, uniqueItems: true };
  const schema: ApiPropertyOptions = { type: 'array', items: textSchema(options) as never, ...limits };
  const listRules: Rule[] = [
    { code: 'field.wrong_type', wants: 'must be a list', passes: Array.isArray },
    {
      code: 'field.too_many',
      wants: `must have at most ${maxItems} items`,
      passes: (value) => Array.isArray(value) && value.length <= maxItems,
    },
    {
      code: 'field.too_few',
      wants: `must have at least ${minItems} items`,
      passes: (value) => Array.isArray(value) && value.length >= minItems,
    },
    {
      code: 'field.malformed',
      wants: 'must not repeat an item',
      passes: (value) => Array.isArray(value) && new Set(value).size === value.length,
    },
    ...textRules(options).map((rule) => ({
      ...rule,
      passes: (value: unknown) => Array.isArray(value) && value.every(rule.passes),
    })),
  ];
  return field(options, schema, listRules);
}

/** An e-mail address; canonicalised before it is validated. */
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
  const canonicalise = Transform(({ value }: { value: unknown }) => canonical(value));
  return applyDecorators(canonicalise, field(text, textSchema(text), textRules(text), canonical));
}

/** A boolean; the texts "true" and "false" are not booleans. */
export function BooleanField(options: FieldOptions = {}): PropertyDecorator {
  return field(options, { type: 'boolean' }, [
    { code: 'field.wrong_type', wants: 'must be true or false', passes: (value) => typeof value === 'boolean' },
  ]);
}

/**
 * No schema says how deep and large the values are, and how large their numbers: a recursive one
 * breaks generated types.
 */
const jsonObject = { type: 'object', additionalProperties: true, propertyNames: { not: { enum: forbiddenKeys } } };

/** A free JSON object, at most `maxDepth` levels deep. */
export function JsonObjectField(options: FieldOptions & { maxBytes: number; maxDepth: number }): PropertyDecorator {
  const fits: Rule[] = [
    {
      code: 'field.wrong_type',
      wants: 'must be an object',
      passes: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    },
    {
      code: 'field.too_deep',
      wants: `must be at most ${options.maxDepth} levels deep`,
      passes: (value) => depthWithin(value, options.maxDepth),
    },
    {
      code: 'field.too_long',
      wants: `must be at most ${options.maxBytes} bytes of JSON`,
      passes: (value) => Buffer.byteLength(JSON.stringify(value, writtenOut)) <= options.maxBytes,
    },
  ];
  // as it was sent: class-transformer leaves keys out that are called like a method of every
  // object, such as `toString`
  const asSent = Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) => obj[key]);
  return applyDecorators(asSent, field(options, jsonObject as ApiPropertyOptions, fits));
}

function field(
  options: FieldOptions,
  schema: ApiPropertyOptions,
  rules: Rule[],
  canonical?: FieldRules['canonical'],
): PropertyDecorator {
  const { optional = false, nullable = false, example } = options;
  const skip = ValidateIf(
    (_object, value: unknown) => !(optional && value === undefined) && !(nullable && value === null),
  );
  const documented = {
    ...schema,
    required: !optional,
    ...(nullable ? { nullable } : {}),
    ...(example === undefined ? {} : { example }),
  } as ApiPropertyOptions;
  const register: PropertyDecorator = (prototype, name) =>
    registerField(prototype, String(name), { optional, nullable, rules, canonical });
  return applyDecorators(ApiProperty(documented), register, skip, ...validators(rules));
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
  const text = (check: (value: string) => boolean) => (value: unknown) => typeof value === 'string' && check(value);
  const found: Rule[] = [
    { code: 'field.wrong_type', wants: 'must be a text', passes: (value) => typeof value === 'string' },
    {
      code: 'field.too_long',
      wants: `must have at most ${max} characters`,
      passes: text((value) => value.length <= max * 2 && [...value].length <= max),
    },
    {
      code: 'field.too_short',
      wants: `must have at least ${min} characters`,
      passes: text((value) => [...value].length >= min),
    },
  ];
  found.push({
    code: 'field.malformed',
    wants: raw ? 'must not have NUL' : 'must not have control or invisible characters',
    passes: text((value) => (raw ? storableText : visibleText).test(value)),
  });
  if (values !== undefined)
    found.push({
      code: 'field.not_allowed',
      wants: `must be one of ${values.join(', ')}`,
      passes: text((value) => values.includes(value)),
    });
  if (pattern !== undefined)
    found.push({
      code: 'field.malformed',
      wants: form ?? 'has the wrong form',
      passes: text((value) => pattern.test(value)),
    });
  if (test !== undefined)
    found.push({ code: test.code ?? 'field.malformed', wants: test.wants, passes: text(test.check) });
  return found;
}

/**
 * One validator per rule, in order; the pipe stops at the first that fails. Each has a name of its
 * own, else a later one would take its place.
 */
function validators(rules: Rule[]): PropertyDecorator[] {
  return rules.map(({ code, wants, passes }, index) =>
    ValidateBy({ name: `${code}${index}`, validator: { validate: passes } }, { message: wants }),
  );
}

/** PostgreSQL keeps 1e-300 with all its zeros: as a text that is as long as the number is there. */
function writtenOut(_key: string, value: unknown): unknown {
  const size = typeof value === 'number' ? Math.abs(value) : 1;
  return size > 0 && size < 1e-6 ? '0'.repeat(Math.ceil(-Math.log10(size)) + significantDigits) : value;
}

function depthWithin(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return left > 0 && Object.values(value).every((inner) => depthWithin(inner, left - 1));
}
