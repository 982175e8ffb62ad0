import type { Condition, FilterField, FilterSpec } from './filter';
import type { Operator, ValueType } from './filter-value';
import { joinSql, rawSql, sql, type SqlFragment } from './sql';

/** Turns a condition on a row of another table into a condition on the listed row. */
export type Reach = (condition: SqlFragment) => SqlFragment;

/** A condition. `reach` is set if the condition refers to another table. */
export interface SqlPiece {
  condition: SqlFragment;
  reach?: Reach;
}

/** Renders a field whose conditions are not plain comparisons with a column of the list's table. */
export interface FieldSql {
  /** SQL expression of the field, by default the column with the name of the field */
  column?: string;
  /** set when `column` belongs to another table */
  reach?: Reach;
  /** replaces `column = value` */
  equals?: (value: unknown) => SqlFragment;
  /** replaces the comparison with several values */
  equalsAny?: (values: readonly unknown[]) => SqlFragment;
  /** replaces `column is null` */
  isnull?: SqlFragment;
  /** finds candidates of `_like` by an index; a comparison with the column then decides */
  likeCandidates?: (value: string) => SqlPiece;
}

/** Renders the conditions of a `FilterSpec`. */
export interface FilterSql {
  spec: FilterSpec;
  /** table with the columns of all fields that have no entry in `fields` */
  table: string;
  fields?: Record<string, FieldSql>;
  specials?: Record<string, (value: string) => SqlPiece>;
  /** JSON column of `attributes.<key>` */
  attributesColumn?: string;
}

interface RenderedField extends FilterField, FieldSql {
  column: string;
}

const casts: Record<ValueType, string> = {
  uuid: '::uuid',
  text: '::text',
  boolean: '::boolean',
  time: '::timestamptz',
  address: '::inet',
};
const comparisons: Partial<Record<Operator, string>> = { gt: '>', gte: '>=', lt: '<', lte: '<=' };

/**
 * Renders conditions as one expression joined by AND, or `true` without conditions.
 * Conditions on the same other table become one condition.
 * @param joined reach of a table that the statement joins, so that its conditions need no subquery
 */
export function filterSql(conditions: readonly Condition[], filter: FilterSql, joined?: Reach): SqlFragment {
  const pieces = conditions.flatMap((condition) => piecesOf(condition, filter));
  const reaches = new Set(pieces.map(({ reach }) => reach));
  const groups = [...reaches].map((reach) => {
    const group = pieces.filter((piece) => piece.reach === reach).map(({ condition }) => condition);
    const condition = joinSql(group, '\nand ');
    return reach === undefined || reach === joined ? condition : reach(condition);
  });
  return joinSql(groups, '\nand ');
}

/**
 * Escapes `%`, `_` and `\` of a LIKE pattern (OWASP ASVS 1.2.4; wildcard denial of service).
 */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

function fieldOf(name: string, { spec, table, fields }: FilterSql): RenderedField {
  const field = spec.fields[name];
  if (field === undefined) throw new Error(`the list has no field ${name}`);
  return { column: `${table}.${name}`, ...field, ...fields?.[name] };
}

function piecesOf(condition: Condition, filter: FilterSql): SqlPiece[] {
  if (condition.kind === 'attribute') {
    const column = filter.attributesColumn ?? `${filter.table}.attributes`;
    return [{ condition: attributeSql(column, condition.key, condition.value) }];
  }
  if (condition.kind === 'special') {
    const special = filter.specials?.[condition.name];
    if (special === undefined) throw new Error(`the list has no parameter ${condition.name}`);
    return [special(condition.value)];
  }
  const { operator, value } = condition;
  const field = fieldOf(condition.field, filter);
  const candidates = operator === 'like' ? field.likeCandidates?.(String(value)) : undefined;
  const own = { condition: fieldSql(field, operator, value), reach: field.reach };
  return candidates === undefined ? [own] : [candidates, own];
}

/**
 * Renders equality with an attribute, by containment, which uses the index.
 * Also compares a number as text, because `1.0` contains `1`.
 */
function attributeSql(column: string, key: string, value: string): SqlFragment {
  const contains = (json: string) => sql`${rawSql(column)} @> ${json}::jsonb`;
  const isText = contains(JSON.stringify({ [key]: value }));
  if (!/^(true|false|-?\d+(\.\d+)?)$/.test(value)) return isText;
  const number = contains(`{${JSON.stringify(key)}:${value.replace(/^(-?)0+(?=\d)/, '$1')}}`);
  // `coalesce` hides the comparison from the planner, which would estimate it as a second filter.
  return sql`(${isText} or (${number} and coalesce(${rawSql(column)} ->> ${key}::text = ${value}::text, false)))`;
}

function fieldSql(field: RenderedField, operator: Operator, value: unknown): SqlFragment {
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
      return sql`${column} ${rawSql(comparisons[operator] ?? '=')} ${value}${rawSql(casts[field.type])}`;
  }
}

function likeSql({ column, likeCandidates }: RenderedField, value: string): SqlFragment {
  if (likeCandidates === undefined) return sql`${rawSql(column)} ilike ${`%${escapeLike(value)}%`}::text`;
  // The planner expects `<>` of an expression to match nearly all candidates. It would count a
  // second LIKE as an independent filter and expect far too few rows.
  return sql`strpos(lower(${rawSql(column)}), lower(${value}::text)) <> 0`;
}

/** Renders inequality, where possible in a form that an index can serve. Also matches null. */
function differsSql(field: RenderedField, value: unknown): SqlFragment {
  const column = rawSql(field.column);
  const orNull = field.nullable === true ? sql` or ${field.isnull ?? sql`${column} is null`}` : sql``;
  if (field.values !== undefined) {
    const others = field.values.filter((one) => one !== value);
    return sql`(${inSql(field, others)}${orNull})`;
  }
  if (field.type === 'boolean') return equalsSql(field, value !== true);
  if (field.equals !== undefined || field.type === 'address') return sql`(${equalsSql(field, value)} is not true)`;
  if (field.fold === true) return sql`(lower(${column}) <> lower(${value}::text)${orNull})`;
  const cast = rawSql(casts[field.type]);
  return sql`(${column} < ${value}${cast} or ${column} > ${value}${cast}${orNull})`;
}

function equalsSql(field: RenderedField, value: unknown): SqlFragment {
  if (field.equals !== undefined) return sql`(${field.equals(value)})`;
  const column = rawSql(field.column);
  if (field.type === 'address') return sql`(${column} <<= ${value}::inet)`;
  if (field.fold === true) return sql`(lower(${column}) = lower(${value}::text))`;
  return sql`(${column} = ${value}${rawSql(casts[field.type])})`;
}

function inSql(field: RenderedField, values: readonly unknown[]): SqlFragment {
  if (values.length === 1) return equalsSql(field, values[0]);
  if (field.equalsAny !== undefined) return sql`(${field.equalsAny(values)})`;
  if (field.equals !== undefined || field.type === 'address')
    return sql`(${joinSql(
      values.map((value) => equalsSql(field, value)),
      ' or ',
    )})`;
  const column = rawSql(field.column);
  if (field.fold === true)
    return sql`(lower(${column}) = any(${values.map((value) => String(value).toLowerCase())}::text[]))`;
  return sql`(${column} = any(${values}${rawSql(`${casts[field.type]}[]`)}))`;
}
