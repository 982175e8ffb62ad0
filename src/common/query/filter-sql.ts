import type { Condition, FilterField, Reach } from './filter';
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

/**
 * The conditions as one parameterised SQL expression, joined by AND; `true` when there are none.
 * Those on the same other table are one condition.
 */
export function filterSql(conditions: readonly Condition[]): SqlFragment {
  const reaches = new Set(conditions.map(reachOf));
  const groups = [...reaches].map((reach) => {
    const own = conditions.filter((condition) => reachOf(condition) === reach).map(conditionSql);
    return reach === undefined ? joinSql(own, ' and ') : reach(joinSql(own, ' and '));
  });
  return joinSql(groups, ' and ');
}

/**
 * Text for LIKE in which `%`, `_` and `\` are literal (OWASP ASVS 1.2.4; wildcard denial of
 * service).
 */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

/**
 * Whether the planner has nothing good to tell by how many rows these conditions find: parts of
 * texts, elements of arrays and objects.
 */
export function isGuess(conditions: readonly Condition[]): boolean {
  return conditions.some(
    (condition) => condition.kind !== 'field' || condition.operator === 'like' || condition.field.guessed === true,
  );
}

function reachOf(condition: Condition): Reach | undefined {
  if (condition.kind === 'attribute') return undefined;
  if (condition.kind === 'special') return condition.reach;
  const { field, operator } = condition;
  return operator === 'like' && field.like !== undefined ? field.like.reach : field.reach;
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

/**
 * The containment finds by index; of numbers the text decides, since 1.0 contains 1. A condition
 * that the planner takes for none narrows nothing.
 */
function attributeSql(column: string, key: string, value: string): SqlFragment {
  const contains = (json: string) => sql`${rawSql(column)} @> ${json}::jsonb`;
  const isText = contains(JSON.stringify({ [key]: value }));
  if (!/^(true|false|-?\d+(\.\d+)?)$/.test(value)) return isText;
  const number = contains(`{${JSON.stringify(key)}:${value.replace(/^(-?)0+(?=\d)/, '$1')}}`);
  return sql`(${isText} or (${number} and coalesce(${rawSql(column)} ->> ${key}::text = ${value}::text, false)))`;
}

function fieldSql(field: FilterField, operator: Operator, value: unknown): SqlFragment {
  const column = rawSql(field.column);
  switch (operator) {
    case 'eq':
      return equalsSql(field, value);
    case 'ne':
      return differsSql(field, value);
    case 'in':
      return inSql(field, value as unknown[]);
    case 'isnull':
      if (field.isnull !== undefined) return value === true ? field.isnull : sql`not ${field.isnull}`;
      return value === true ? sql`${column} is null` : sql`${column} is not null`;
    case 'like':
      return likeSql(field, String(value));
    default:
      return sql`${column} ${rawSql(comparisons[operator] ?? '=')} ${value}${rawSql(scalarCasts[field.type])}`;
  }
}

function likeSql(field: FilterField, value: string): SqlFragment {
  return field.like?.condition(value) ?? sql`${rawSql(field.column)} ilike ${`%${escapeLike(value)}%`}::text`;
}

/** Whoever has no value differs, too. Written so that an index can find the few that do. */
function differsSql(field: FilterField, value: unknown): SqlFragment {
  const column = rawSql(field.column);
  const orNull = field.nullable === true ? sql` or ${field.isnull ?? sql`${column} is null`}` : sql``;
  if (field.values !== undefined) {
    const others = field.values.filter((one) => one !== value);
    return sql`(${inSql(field, others)}${orNull})`;
  }
  if (field.type === 'boolean') return equalsSql(field, value !== true);
  if (field.equals !== undefined || field.type === 'address') return sql`(${equalsSql(field, value)} is not true)`;
  if (field.fold === true) return sql`(lower(${column}) <> lower(${value}::text)${orNull})`;
  const cast = rawSql(scalarCasts[field.type]);
  return sql`(${column} < ${value}${cast} or ${column} > ${value}${cast}${orNull})`;
}

function equalsSql(field: FilterField, value: unknown): SqlFragment {
  if (field.equals !== undefined) return sql`(${field.equals(value)})`;
  const column = rawSql(field.column);
  if (field.type === 'address') return sql`(${column} <<= ${value}::inet)`;
  if (field.fold === true) return sql`(lower(${column}) = lower(${value}::text))`;
  return sql`(${column} = ${value}${rawSql(scalarCasts[field.type])})`;
}

function inSql(field: FilterField, values: readonly unknown[]): SqlFragment {
  if (values.length === 1) return equalsSql(field, values[0]);
  if (field.equalsAny !== undefined) return sql`(${field.equalsAny(values)})`;
  const plain = field.equals === undefined && field.type !== 'address';
  if (!plain)
    return sql`(${joinSql(
      values.map((value) => equalsSql(field, value)),
      ' or ',
    )})`;
  const column = rawSql(field.column);
  if (field.fold === true)
    return sql`(lower(${column}) = any(${values.map((value) => String(value).toLowerCase())}::text[]))`;
  return sql`(${column} = any(${values}${rawSql(arrayCasts[field.type])}))`;
}
