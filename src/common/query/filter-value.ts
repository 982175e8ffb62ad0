import { isAddressOrCidr } from '../ip';

/** The operators of the grammar; `eq` is written without a suffix. */
export type Operator = 'eq' | 'ne' | 'in' | 'gt' | 'gte' | 'lt' | 'lte' | 'isnull' | 'like';

/** The types a filter value can have. */
export type ValueType = 'uuid' | 'text' | 'boolean' | 'time' | 'address';

/** A value that was understood, or why it was not. */
export type ReadValue = { ok: true; value: unknown } | { ok: false; detail: string };

interface ValueRules {
  type: ValueType;
  values?: readonly string[];
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const timePattern = /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):(\d{2}):(\d{2})(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;
const listMax = 500;
const textMax = 256;
const likeMin = 3;

/** Reads the value of one parameter for an operator: a list for `in`, a boolean for `isnull`, else the field's own type. */
export function readValue(text: string, rules: ValueRules, operator: Operator = 'eq'): ReadValue {
  if (operator === 'isnull') return readScalar(text, { type: 'boolean' });
  if (operator === 'in') return readList(text, rules);
  if (operator === 'like' && [...text].length < likeMin) return { ok: false, detail: `must have at least ${likeMin} characters` };
  return readScalar(text, rules);
}

function readList(text: string, rules: ValueRules): ReadValue {
  const items = text.split(',');
  if (items.length > listMax) return { ok: false, detail: `must have at most ${listMax} values` };
  const values: unknown[] = [];
  for (const item of items) {
    if (item === '') return { ok: false, detail: 'must not have empty values' };
    const read = readScalar(item, rules);
    if (!read.ok) return read;
    values.push(read.value);
  }
  return { ok: true, value: values };
}

function readScalar(text: string, rules: ValueRules): ReadValue {
  switch (rules.type) {
    case 'uuid':
      return uuidPattern.test(text) ? { ok: true, value: text.toLowerCase() } : { ok: false, detail: 'must be a UUID' };
    case 'boolean':
      return text === 'true' || text === 'false' ? { ok: true, value: text === 'true' } : { ok: false, detail: 'must be true or false' };
    case 'time':
      return readTime(text);
    case 'address':
      return isAddressOrCidr(text) ? { ok: true, value: text } : { ok: false, detail: 'must be an IP address or a CIDR' };
    case 'text':
      return readText(text, rules.values);
  }
}

function readText(text: string, values: readonly string[] | undefined): ReadValue {
  if (values !== undefined && !values.includes(text)) return { ok: false, detail: `must be one of ${values.join(', ')}` };
  if (text.length > textMax) return { ok: false, detail: `must have at most ${textMax} characters` };
  if (text.includes('\0') || !text.isWellFormed()) return { ok: false, detail: 'must be well-formed Unicode without NUL' };
  return { ok: true, value: text };
}

/** RFC 3339 only, and only times that exist: `2026-02-30` is refused although `Date` would roll it over. */
function readTime(text: string): ReadValue {
  const match = timePattern.exec(text);
  const time = new Date(text);
  const wrong: ReadValue = { ok: false, detail: 'must be an RFC 3339 time such as 2026-11-20T13:00:00Z' };
  if (match === null || Number.isNaN(time.getTime())) return wrong;
  const [, year, month, day] = match.map(Number);
  const calendarDay = new Date(Date.UTC(year ?? 0, (month ?? 0) - 1, day));
  const exists = calendarDay.getUTCDate() === day && calendarDay.getUTCMonth() + 1 === month;
  return exists && time.getUTCFullYear() <= 9999 ? { ok: true, value: time } : wrong;
}
