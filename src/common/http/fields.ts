import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsObject, ValidateBy, ValidateIf, type ValidationOptions } from 'class-validator';
import { canonicalEmail, isEmailAddress } from './email-address';

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
  /** the whole text must match */
  pattern?: RegExp;
  /** what the pattern wants, for a person */
  form?: string;
  values?: readonly string[];
  /** further test with what it wants, for a person */
  test?: { check: (text: string) => boolean; wants: string };
  /** any character but NUL, as in passwords; else control, bidirectional and zero-width characters are refused */
  raw?: boolean;
  format?: string;
}

/** Characters that make a name look like another, or turn its text around (Unicode TR 36; Trojan Source). */
const deceptive = /[\p{Cc}\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]/u;
type Rule = { code: string; wants: string; passes: (value: unknown) => boolean };

/** A text field. Length is counted in code points by ourselves: libraries overlook variation selectors (CVE-2025-12758). */
export function TextField(options: TextOptions): PropertyDecorator {
  return field(options, textSchema(options), rules(textRules(options)));
}

/** A list of different texts. */
export function TextListField(options: TextOptions & { maxItems: number }): PropertyDecorator {
  const schema: ApiPropertyOptions = { type: 'array', items: textSchema(options) as never, maxItems: options.maxItems, uniqueItems: true };
  const { maxItems } = options;
  const listRules: Rule[] = [
    { code: 'wrongType', wants: 'must be a list', passes: Array.isArray },
    { code: 'tooMany', wants: `must have at most ${maxItems} items`, passes: (value) => Array.isArray(value) && value.length <= maxItems },
    {
      code: 'malformed',
      wants: 'must not repeat an item',
      passes: (value) => Array.isArray(value) && new Set(value).size === value.length,
    },
    ...textRules(options).map((rule) => ({ ...rule, passes: (value: unknown) => Array.isArray(value) && value.every(rule.passes) })),
  ];
  return field(options, schema, rules(listRules));
}

/** An e-mail address; canonicalised before it is validated. */
export function EmailField(options: FieldOptions = {}): PropertyDecorator {
  const text: TextOptions = {
    ...options,
    min: 3,
    max: 254,
    format: 'email',
    test: { check: isEmailAddress, wants: 'must be an e-mail address' },
  };
  const canonicalise = Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? canonicalEmail(value) : value));
  return applyDecorators(canonicalise, TextField(text));
}

/** A boolean; the texts "true" and "false" are not booleans. */
export function BooleanField(options: FieldOptions = {}): PropertyDecorator {
  return field(options, { type: 'boolean' }, [IsBoolean()]);
}

/** A free JSON object, at most `maxDepth` levels deep. */
export function JsonObjectField(options: FieldOptions & { maxBytes: number; maxDepth: number }): PropertyDecorator {
  const fits: Rule[] = [
    { code: 'tooDeep', wants: `must be at most ${options.maxDepth} levels deep`, passes: (value) => depthWithin(value, options.maxDepth) },
    {
      code: 'tooLong',
      wants: `must be at most ${options.maxBytes} bytes of JSON`,
      passes: (value) => Buffer.byteLength(JSON.stringify(value)) <= options.maxBytes,
    },
  ];
  return field(options, { type: 'object', additionalProperties: true }, [IsObject(), ...rules(fits)]);
}

function field(options: FieldOptions, schema: ApiPropertyOptions, validators: PropertyDecorator[]): PropertyDecorator {
  const { optional = false, nullable = false, example } = options;
  const skip = ValidateIf((_object, value: unknown) => !(optional && value === undefined) && !(nullable && value === null));
  const documented = {
    ...schema,
    required: !optional,
    ...(nullable ? { nullable } : {}),
    ...(example === undefined ? {} : { example }),
  } as ApiPropertyOptions;
  return applyDecorators(ApiProperty(documented), skip, ...validators);
}

function textSchema({ min, max, pattern, values, format }: TextOptions): ApiPropertyOptions {
  const limits = { ...(min === undefined ? {} : { minLength: min }), maxLength: max, ...(format === undefined ? {} : { format }) };
  return {
    type: 'string',
    ...limits,
    ...(pattern === undefined ? {} : { pattern: pattern.source }),
    ...(values === undefined ? {} : { enum: [...values] }),
  };
}

function textRules(options: TextOptions): Rule[] {
  const { min = 0, max, pattern, form, values, test, raw = false } = options;
  const text = (check: (value: string) => boolean) => (value: unknown) => typeof value === 'string' && check(value);
  const found: Rule[] = [
    { code: 'wrongType', wants: 'must be a text', passes: (value) => typeof value === 'string' },
    {
      code: 'tooLong',
      wants: `must have at most ${max} characters`,
      passes: text((value) => value.length <= max * 2 && [...value].length <= max),
    },
    { code: 'tooShort', wants: `must have at least ${min} characters`, passes: text((value) => [...value].length >= min) },
  ];
  if (!raw)
    found.push({
      code: 'malformed',
      wants: 'must not have control or invisible characters',
      passes: text((value) => !deceptive.test(value)),
    });
  if (values !== undefined)
    found.push({ code: 'notAllowed', wants: `must be one of ${values.join(', ')}`, passes: text((value) => values.includes(value)) });
  if (pattern !== undefined)
    found.push({ code: 'malformed', wants: form ?? 'has the wrong form', passes: text((value) => pattern.test(value)) });
  if (test !== undefined) found.push({ code: 'malformed', wants: test.wants, passes: text(test.check) });
  return found;
}

/** One validator per rule, in order; the pipe stops at the first that fails. */
function rules(list: Rule[]): PropertyDecorator[] {
  return list.map(({ code, wants, passes }, index) => {
    const options: ValidationOptions = { message: wants };
    return ValidateBy({ name: `${code}${index}`, validator: { validate: passes } }, options);
  });
}

function depthWithin(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return left > 0 && Object.values(value).every((inner) => depthWithin(inner, left - 1));
}
