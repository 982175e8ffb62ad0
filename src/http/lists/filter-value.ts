import { type Fault, limitFault, type Limits } from '../errors/app-error';
import { addressForm, storableText, timeForm, uuidForm } from '../../platform/text-forms';

/** The operators of the grammar; `eq` is written without a suffix. */
export type Operator = 'eq' | 'ne' | 'in' | 'gt' | 'gte' | 'lt' | 'lte' | 'isnull' | 'like';

/** The types that a filter value can have. */
export type ValueType = 'uuid' | 'text' | 'boolean' | 'time' | 'address';

/** A parsed value, or the reason why the text is rejected. */
export type ReadValue = { value: unknown } | Fault;

interface ValueRules {
  type: ValueType;
  values?: readonly string[];
}

/** Maximum number of different values of `_in`. */
export const listMax = 500;
/** Maximum length of a text value, in code points. */
export const textMax = 256;
/** Minimum length of the value of `_like`, in code points. */
export const likeMin = 3;

/**
 * Reads the value of one parameter for an operator: a list for `in`, a boolean for `isnull`,
 * otherwise a value of the field's type.
 */
export function readValue(text: string, rules: ValueRules, operator: Operator = 'eq'): ReadValue {
  if (operator === 'isnull') return readScalar(text, { type: 'boolean' });
  if (operator === 'in') return readList(text, rules);
  if (operator === 'like' && [...text].length < likeMin) return beyond({ min: likeMin, unit: 'characters' });
  return readScalar(text, rules);
}

function readList(text: string, rules: ValueRules): ReadValue {
  const items = new Set(text.split(','));
  if (items.size > listMax) return beyond({ max: listMax, unit: 'values' });
  const values: unknown[] = [];
  for (const item of items) {
    if (item === '') return malformed('must not have empty values');
    const read = readScalar(item, rules);
    if ('code' in read) return read;
    values.push(read.value);
  }
  return { value: values };
}

function readScalar(text: string, rules: ValueRules): ReadValue {
  switch (rules.type) {
    case 'uuid':
      return uuidForm.test(text) ? { value: text.toLowerCase() } : malformed('must be a UUID');
    case 'boolean':
      return text === 'true' || text === 'false' ? { value: text === 'true' } : beyond({ allowed: ['true', 'false'] });
    case 'time':
      return readTime(text);
    case 'address':
      return addressForm.test(text) ? { value: text } : malformed('must be an IP address or a CIDR');
    case 'text':
      return readText(text, rules.values);
  }
}

function readText(text: string, values: readonly string[] | undefined): ReadValue {
  if (values !== undefined && !values.includes(text)) return beyond({ allowed: values });
  // Code points, as `maxLength` of JSON Schema counts them.
  if (text.length > textMax * 2 || [...text].length > textMax) return beyond({ max: textMax, unit: 'characters' });
  if (!storableText.test(text) || !text.isWellFormed()) return malformed('must be well-formed Unicode without NUL');
  return { value: text };
}

/** Reads an RFC 3339 time. Rejects days like `2026-02-30`, which `Date` would roll over. */
function readTime(text: string): ReadValue {
  const day = text.slice(0, 10);
  // For a wrong day, `toJSON` returns null or the day that `Date` rolled over to.
  const exists = timeForm.test(text) && String(new Date(`${day}T00:00:00Z`).toJSON()).startsWith(day);
  const time = new Date(text);
  return exists && time.getUTCFullYear() <= 9999
    ? { value: time }
    : malformed('must be an RFC 3339 time such as 2026-11-20T13:00:00Z');
}

function malformed(detail: string): Fault {
  return { code: 'parameter.malformed', detail };
}

function beyond(limits: Limits): Fault {
  return limitFault('parameter.malformed', limits);
}
