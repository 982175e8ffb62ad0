import { type FilterField, type FilterSpec, operatorsOf, parameterName } from './filter';
import { likeMin, listMax, type Operator, textMax, type ValueType } from './filter-value';
import { countModes, depthMax, directions, type ListSpec, perPageDefault, perPageMax } from './list-query';
import { cursorMax } from './parameter-reader';
import { namedEnum } from '../../platform/named-enum';
import { addressForm, patternOf, storableText, timeForm } from '../../platform/text-forms';

/** A query parameter as the OpenAPI document shows it. */
export interface ParameterDoc {
  /** name in the URL */
  name: string;
  /** meaning of the parameter */
  description: string;
  /** JSON schema of the accepted values */
  schema: Record<string, unknown>;
  /** set for lists: unless `explode` is true, their values are separated by commas */
  style?: 'form';
  /** false for lists; true for a parameter that may be repeated */
  explode?: boolean;
  /** for a filter: what it selects. The API explorer folds the filters into one group */
  'x-filter'?: string;
}

const operatorTexts: Record<Operator, string> = {
  eq: 'equals',
  ne: 'does not equal; matches null too',
  in: `is one of up to ${listMax} different values, separated by commas`,
  gt: 'is after',
  gte: 'is at or after',
  lt: 'is before',
  lte: 'is at or before',
  isnull: 'has no value',
  like: `contains, ignoring case; at least ${likeMin} characters`,
};
const formats: Record<ValueType, Record<string, unknown>> = {
  uuid: { type: 'string', format: 'uuid', minLength: 36, maxLength: 36 },
  time: { type: 'string', format: 'date-time', minLength: 20, maxLength: 35, pattern: patternOf(timeForm) },
  boolean: { type: 'boolean' },
  text: { type: 'string', minLength: 1, maxLength: textMax, pattern: patternOf(storableText) },
  address: { type: 'string', minLength: 2, maxLength: 49, pattern: patternOf(addressForm) },
};
/** Matches text that can be an item of a list: the comma separates items. */
const itemPattern = '^[^,\\x00]*$';

/** Returns every filter parameter of a spec. */
export function filterParameters(spec: FilterSpec): ParameterDoc[] {
  const filter = { 'x-filter': spec.selects ?? 'row' };
  const fields = Object.entries(spec.fields).flatMap(([name, field]) =>
    operatorsOf(field).map((operator): ParameterDoc => {
      const description = `${field.meaning}: ${operatorTexts[operator]}`;
      return { name: parameterName(name, operator), description, ...valueDoc(field, operator), ...filter };
    }),
  );
  const specials = Object.entries(spec.specials ?? {}).map(([name, { meaning, pattern, example }]) => ({
    name,
    description: meaning,
    schema: { ...formats.text, pattern: patternOf(pattern), example },
    ...filter,
  }));
  return [...fields, ...specials];
}

function valueDoc(field: FilterField, operator: Operator): Pick<ParameterDoc, 'schema' | 'style' | 'explode'> {
  if (operator === 'isnull') return { schema: { ...formats.boolean } };
  const scalar = field.values === undefined ? formats[field.type] : { type: 'string', enum: [...field.values] };
  if (operator === 'like') return { schema: { ...scalar, minLength: likeMin } };
  if (operator !== 'in') return { schema: { ...scalar } };
  const items = scalar === formats.text ? { ...scalar, pattern: itemPattern } : { ...scalar };
  return { schema: { type: 'array', items, minItems: 1, maxItems: listMax }, style: 'form', explode: false };
}

/** Returns every parameter of a list: sort, paging, count and filters. */
export function listParameters(spec: ListSpec): ParameterDoc[] {
  const sorts = Object.keys(spec.sorts);
  const { selects } = spec.filter;
  if (selects !== undefined) namedEnum(`${selects}_sort`, sorts);
  return [
    {
      name: 'order_by',
      description: 'Sort field; nulls last, the id breaks ties',
      schema: { type: 'string', enum: sorts, default: spec.defaultSort },
    },
    {
      name: 'order_dir',
      description: 'Direction of the sort',
      schema: { type: 'string', enum: directions, default: spec.defaultDirection ?? 'desc' },
    },
    {
      name: 'per_page',
      description: 'Rows per page',
      schema: { type: 'integer', format: 'int32', minimum: 1, maximum: perPageMax, default: perPageDefault },
    },
    {
      name: 'page',
      description:
        `Number of the page, from 1. \`page\` × \`per_page\` is at most ${depthMax.toLocaleString('en')}. ` +
        'Cannot be combined with `cursor`',
      schema: { type: 'integer', format: 'int32', minimum: 1, maximum: depthMax },
    },
    {
      name: 'cursor',
      description: '`next_cursor` of the previous page; valid for the same caller, filter and sort',
      schema: { type: 'string', minLength: 1, maxLength: cursorMax, example: 'eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v' },
    },
    {
      name: 'count',
      description:
        '`estimated` counts up to 10,000 rows and estimates larger totals; `exact` counts all rows; `none` leaves ' +
        '`total` null',
      schema: { type: 'string', enum: countModes, default: 'estimated' },
    },
    ...filterParameters(spec.filter),
  ];
}
