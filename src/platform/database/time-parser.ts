import { type CustomTypesConfig, types } from 'pg';

const { TIMESTAMPTZ } = types.builtins;
const parseDate = types.getTypeParser(TIMESTAMPTZ) as (text: string) => Date;
/** Format of a `timestamptz(3)` in UTC with a year from 0 to 9999. */
const usual = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?\+00$/;

/**
 * Type parsers that return timestamps as RFC 3339 texts instead of `Date` objects.
 * Measured for a list of 50 users: 2.7 ms of CPU time instead of 3.7 ms.
 */
export const timesAsTexts: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    (Number(oid) === Number(TIMESTAMPTZ) ? toText : types.getTypeParser(oid, format)) as never,
};

function toText(text: string): string | null {
  if (!usual.test(text)) return JSON.parse(JSON.stringify(parseDate(text))) as string | null;
  const time = text.slice(11, -3);
  // PostgreSQL omits trailing zeros, and the decimal point if no digit follows.
  return `${text.slice(0, 10)}T${(time.length === 8 ? `${time}.` : time).padEnd(12, '0')}Z`;
}
