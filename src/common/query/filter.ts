import type { FieldError } from '../errors/app-error';
import { type Operator, readValue, type ValueType } from './filter-value';
import type { SqlFragment } from './sql';

/** Makes a condition on another table's row into one on the listed row that it belongs to. */
export type Reach = (condition: SqlFragment) => SqlFragment;

/** A field that a list can be filtered by. */
export interface FilterField {
  /** SQL expression of the field, written in this code base */
  column: string;
  /** set when `column` is one of another table */
  reach?: Reach;
  type: ValueType;
  /** allows `_isnull`, and lets `_ne` find the nulls too */
  nullable?: boolean;
  /** compared without regard to case */
  fold?: boolean;
  /** the only values it can have */
  values?: readonly string[];
  /** replaces `column = value` where a comparison is not that simple */
  equals?: (value: unknown) => SqlFragment;
  /** replaces the comparison with several values at once */
  equalsAny?: (values: readonly unknown[]) => SqlFragment;
  /** replaces `column is null` */
  isnull?: SqlFragment;
  /** set when the planner can but guess how many rows have a value */
  guessed?: boolean;
  /** replaces `column ilike …`, where an index can do better */
  like?: { condition: (value: string) => SqlFragment; reach?: Reach };
  /** narrower than what the type allows, where a comparison makes no sense */
  operators?: readonly Operator[];
  /** what the field means, for the document */
  meaning: string;
}

/**
 * A parameter with a grammar of its own, such as `q`. Returns null and adds to `errors` when the
 * value is wrong.
 */
export interface SpecialParameter {
  read: (value: string) => SqlFragment | { detail: string };
  /** set when the condition is on another table */
  reach?: Reach;
  /** what it finds, for the document */
  meaning: string;
  /** form that `read` demands besides 1 to 256 characters, for the document */
  pattern: RegExp;
}

/** What a list can be filtered by. Everything not named here is refused. */
export interface FilterSpec {
  fields: Record<string, FilterField>;
  specials?: Record<string, SpecialParameter>;
  /** `attributes.<key>`: equality of a top-level scalar's text in this JSON column */
  attributesColumn?: string;
}

/** One condition that was understood. */
export type Condition =
  | { kind: 'field'; field: FilterField; operator: Operator; value: unknown }
  | { kind: 'attribute'; column: string; key: string; value: string }
  | { kind: 'special'; fragment: SqlFragment; reach?: Reach };

/** The query parameters as the server read them: a repeated one is an array. */
export type RawQuery = Record<string, string | string[] | undefined>;

const suffixes = ['ne', 'in', 'gt', 'gte', 'lt', 'lte', 'isnull', 'like'] as const;
const scalarOperators: readonly Operator[] = ['eq', 'ne', 'in'];
const attributeKey = /^attributes\.([A-Za-z0-9_-]{1,64})$/;
const attributesMax = 3;

/** The operators that a field understands. */
export function operatorsOf(field: FilterField): readonly Operator[] {
  if (field.operators !== undefined) return field.operators;
  const operators = [...scalarOperators];
  if (field.type === 'time') operators.push('gt', 'gte', 'lt', 'lte');
  if (field.nullable === true) operators.push('isnull');
  if (field.type === 'text' && field.values === undefined) operators.push('like');
  return operators;
}

/** The name of the parameter for a field and operator, such as `created_at_gt`. */
export function parameterName(field: string, operator: Operator): string {
  return operator === 'eq' ? field : `${field}_${operator}`;
}

/**
 * Reads filter parameters into typed conditions. What is unknown or malformed goes into `errors`,
 * never out of sight.
 */
export function parseFilter(query: RawQuery, spec: FilterSpec, errors: FieldError[]): Condition[] {
  const conditions: Condition[] = [];
  for (const [parameter, value] of Object.entries(query)) {
    if (typeof value !== 'string' || value === '') {
      errors.push({ parameter, code: 'parameter.malformed', detail: 'must be given once, with a value' });
      continue;
    }
    const condition = readCondition(parameter, value, spec);
    if ('detail' in condition) errors.push({ parameter, code: condition.code, detail: condition.detail });
    else conditions.push(condition);
  }
  if (conditions.filter((condition) => condition.kind === 'attribute').length > attributesMax) {
    errors.push({ parameter: 'attributes', code: 'parameter.too_many', detail: `at most ${attributesMax} attributes` });
  }
  return conditions;
}

function readCondition(
  parameter: string,
  value: string,
  spec: FilterSpec,
): Condition | { code: string; detail: string } {
  const key = attributeKey.exec(parameter)?.[1];
  if (spec.attributesColumn !== undefined && key !== undefined) {
    const text = readValue(value, { type: 'text' });
    if (!text.ok) return { code: 'parameter.malformed', detail: text.detail };
    return { kind: 'attribute', column: spec.attributesColumn, key, value };
  }
  const special = own(spec.specials ?? {}, parameter);
  if (special !== undefined) {
    const fragment = special.read(value);
    return 'detail' in fragment
      ? { code: 'parameter.malformed', detail: fragment.detail }
      : { kind: 'special', fragment, reach: special.reach };
  }
  const found = findField(parameter, spec);
  if (found === null) return { code: 'parameter.unknown', detail: 'is not a parameter of this operation' };
  const read = readValue(value, found.field, found.operator);
  if (!read.ok) return { code: 'parameter.malformed', detail: read.detail };
  return { kind: 'field', ...found, value: read.value };
}

function findField(parameter: string, spec: FilterSpec): { field: FilterField; operator: Operator } | null {
  const plain = own(spec.fields, parameter);
  if (plain !== undefined) return operatorsOf(plain).includes('eq') ? { field: plain, operator: 'eq' } : null;
  for (const operator of suffixes) {
    if (!parameter.endsWith(`_${operator}`)) continue;
    const field = own(spec.fields, parameter.slice(0, -operator.length - 1));
    if (field !== undefined && operatorsOf(field).includes(operator)) return { field, operator };
  }
  return null;
}

/**
 * Own keys only: a parameter called `constructor` is unknown, not a function (prototype pollution,
 * CWE-1321).
 */
function own<T>(record: Record<string, T>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
