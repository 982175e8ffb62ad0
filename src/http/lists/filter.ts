import { type Fault, type FieldError, invalid, limitFault } from '../errors/app-error';
import { type Operator, readValue, type ValueType } from './filter-value';

/** A field that a list can be filtered by. */
export interface FilterField {
  type: ValueType;
  /** allows `_isnull`, and makes `_ne` match nulls too */
  nullable?: boolean;
  /** compared without regard to case */
  fold?: boolean;
  /** the only values of the field */
  values?: readonly string[];
  /** replaces the operators of the type */
  operators?: readonly Operator[];
  /** meaning of the field, for the OpenAPI document */
  meaning: string;
}

/** A parameter that is not a field, such as `q`. Its value is text. */
export interface SpecialParameter {
  /** form of the value, besides 1 to 256 characters */
  pattern: RegExp;
  /** error of a value that does not match `pattern` */
  fault: Fault;
  /** what the parameter matches, for the OpenAPI document */
  meaning: string;
  example: string;
}

/** Names the parameters that a list can be filtered by. All other parameters are rejected. */
export interface FilterSpec {
  /** what the filters select, such as `user`, for names in the OpenAPI document */
  selects?: string;
  fields: Record<string, FilterField>;
  specials?: Record<string, SpecialParameter>;
  /** allows `attributes.<key>`: equality with a top-level scalar, compared as text */
  attributes?: boolean;
}

/** One parsed condition. Field and special names are keys of the `FilterSpec`. */
export type Condition =
  | { kind: 'field'; field: string; operator: Operator; value: unknown }
  | { kind: 'attribute'; key: string; value: string }
  | { kind: 'special'; name: string; value: string };

/** Query parameters. A repeated parameter is an array. */
export type RawQuery = Record<string, string | string[] | undefined>;

const suffixes = ['ne', 'in', 'gt', 'gte', 'lt', 'lte', 'isnull', 'like'] as const;
const scalarOperators: readonly Operator[] = ['eq', 'ne', 'in'];
const attributeKey = /^attributes\.([A-Za-z0-9_-]{1,64})$/;
const attributesMax = 3;

/** Returns the operators of a field. */
export function operatorsOf(field: FilterField): readonly Operator[] {
  if (field.operators !== undefined) return field.operators;
  const operators = [...scalarOperators];
  if (field.type === 'time') operators.push('gt', 'gte', 'lt', 'lte');
  if (field.nullable === true) operators.push('isnull');
  if (field.type === 'text' && field.values === undefined) operators.push('like');
  return operators;
}

/** Returns the parameter name of a field and an operator, such as `created_at_gt`. */
export function parameterName(field: string, operator: Operator): string {
  return operator === 'eq' ? field : `${field}_${operator}`;
}

/** Parses filter parameters. Adds an error for each unknown or malformed parameter. */
export function parseFilter(query: RawQuery, spec: FilterSpec, errors: FieldError[]): Condition[] {
  const conditions: Condition[] = [];
  for (const [parameter, value] of Object.entries(query)) {
    if (typeof value !== 'string' || value === '') {
      errors.push({ parameter, code: 'parameter.malformed', detail: 'must be given once, with a value' });
      continue;
    }
    const condition = readCondition(parameter, value, spec);
    if ('code' in condition) errors.push({ parameter, ...condition });
    else conditions.push(condition);
  }
  if (conditions.filter((condition) => condition.kind === 'attribute').length > attributesMax) {
    errors.push({ parameter: 'attributes', ...limitFault('parameter.too_many', { max: attributesMax }) });
  }
  return conditions;
}

/** Parses a query that has filter parameters only. @throws request.invalid */
export function parseConditions(query: RawQuery, spec: FilterSpec): Condition[] {
  const errors: FieldError[] = [];
  const conditions = parseFilter(query, spec, errors);
  if (errors.length > 0) throw invalid(...errors);
  return conditions;
}

function readCondition(parameter: string, value: string, spec: FilterSpec): Condition | Fault {
  const key = attributeKey.exec(parameter)?.[1];
  if (spec.attributes === true && key !== undefined) {
    const text = readValue(value, { type: 'text' });
    return 'code' in text ? text : { kind: 'attribute', key, value };
  }
  const special = own(spec.specials ?? {}, parameter);
  if (special !== undefined) {
    const text = readValue(value, { type: 'text' });
    if ('code' in text) return text;
    return special.pattern.test(value) ? { kind: 'special', name: parameter, value } : special.fault;
  }
  const found = findField(parameter, spec);
  if (found === null) return { code: 'parameter.unknown', detail: 'is not a parameter of this operation' };
  const { name, field, operator } = found;
  const read = readValue(value, field, operator);
  return 'code' in read ? read : { kind: 'field', field: name, operator, value: read.value };
}

interface FoundField {
  name: string;
  field: FilterField;
  operator: Operator;
}

function findField(parameter: string, spec: FilterSpec): FoundField | null {
  const plain = own(spec.fields, parameter);
  if (plain !== undefined)
    return operatorsOf(plain).includes('eq') ? { name: parameter, field: plain, operator: 'eq' } : null;
  for (const operator of suffixes) {
    if (!parameter.endsWith(`_${operator}`)) continue;
    const name = parameter.slice(0, -operator.length - 1);
    const field = own(spec.fields, name);
    if (field !== undefined && operatorsOf(field).includes(operator)) return { name, field, operator };
  }
  return null;
}

/** Reads own keys only, so that a parameter called `constructor` is unknown (CWE-1321). */
function own<T>(record: Record<string, T>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
