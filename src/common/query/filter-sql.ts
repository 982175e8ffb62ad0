import type { Condition, FilterField } from './filter';
import type { Operator, ValueType } from './filter-value';
import { joinSql, rawSql, sql, type SqlFragment } from './sql';

const arrayCasts: Record<ValueType, string> = {
  uuid: '::uuid[]',
  text: '::text[]',
  boolean: '::boolean[]',
  time: '::timestamptz[]',
  address: '::inet[]',
};
const scalarCasts: Record<ValueType, string> = {
  uuid: '::uuid',
  text: '::text',
  boolean: '::boolean',
  time: '::timestamptz',
  address: '::inet',
};
const comparisons: Partial<Record<Operator, string>> = { gt: '>', gte: '>=', lt: '<', lte: '<=' };

/** The conditions as one parameterised SQL expression, joined by AND; `true` when there are none. */
export function filterSql(conditions: readonly Condition[]): SqlFragment {
  return joinSql(conditions.map(conditionSql), ' and ');
}

/** Text for LIKE in which `%`, `_` and `\` are literal (OWASP ASVS 1.2.4; wildcard denial of service). */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

function conditionSql(condition: Condition): SqlFragment {
  switch (condition.kind) {
    case 'special':
      return sql`(${condition.fragment})`;
    case 'attribute':
      return attributeSql(condition.column, condition.key, condition.value);
    case 'field':
      return fieldSql(condition.field, condition.operator, condition.value);
  }
}

/** The containment can use the GIN index; the text comparison after it decides. */
function attributeSql(column: string, key: string, value: string): SqlFragment {
  const candidates = [JSON.stringify({ [key]: value })];
  if (/^(true|false|-?\d+(\.\d+)?)$/.test(value)) candidates.push(`{${JSON.stringify(key)}:${value.replace(/^(-?)0+(?=\d)/, '$1')}}`);
  const contained = candidates.map((candidate) => sql`${rawSql(column)} @> ${candidate}::jsonb`);
  return sql`((${joinSql(contained, ' or ')}) and ${rawSql(column)} ->> ${key}::text = ${value}::text)`;
}

function fieldSql(field: FilterField, operator: Operator, value: unknown): SqlFragment {
  const column = rawSql(field.column);
  switch (operator) {
    case 'eq':
      return equalsSql(field, value);
    case 'ne':
      // null-safe, so that whoever has no value is found too
      return sql`(${equalsSql(field, value)} is not true)`;
    case 'in':
      return inSql(field, value as unknown[]);
    case 'isnull':
      return sql`(${column} is null) = ${value}::boolean`;
    case 'like':
      return likeSql(field, `%${escapeLike(String(value))}%`);
    default:
      return sql`${column} ${rawSql(comparisons[operator] ?? '=')} ${value}${rawSql(scalarCasts[field.type])}`;
  }
}

function likeSql(field: FilterField, pattern: string): SqlFragment {
  const contains = sql`${rawSql(field.column)} ilike ${pattern}::text`;
  return field.searchColumn === undefined ? contains : sql`(${rawSql(field.searchColumn)} like lower(${pattern}::text) and ${contains})`;
}

function equalsSql(field: FilterField, value: unknown): SqlFragment {
  if (field.equals !== undefined) return sql`(${field.equals(value)})`;
  const column = rawSql(field.column);
  if (field.type === 'address') return sql`(${column} <<= ${value}::inet)`;
  if (field.fold === true) return sql`(lower(${column}) = lower(${value}::text))`;
  return sql`(${column} = ${value}${rawSql(scalarCasts[field.type])})`;
}

function inSql(field: FilterField, values: unknown[]): SqlFragment {
  const plain = field.equals === undefined && field.type !== 'address';
  if (!plain)
    return sql`(${joinSql(
      values.map((value) => equalsSql(field, value)),
      ' or ',
    )})`;
  const column = rawSql(field.column);
  if (field.fold === true) return sql`(lower(${column}) = any(${values.map((value) => String(value).toLowerCase())}::text[]))`;
  return sql`(${column} = any(${values}${rawSql(arrayCasts[field.type])}))`;
}
