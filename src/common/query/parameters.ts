import { type FilterSpec, operatorsOf, parameterName } from './filter';
import type { ListSpec } from './list-query';

/** A query parameter, for the document. */
export interface ParameterDoc {
  name: string;
  description: string;
  schema: Record<string, unknown>;
}

const operatorTexts: Record<string, string> = {
  eq: 'equals',
  ne: 'does not equal; finds nulls too',
  in: 'is one of a comma list of up to 500',
  gt: 'is after',
  gte: 'is at or after',
  lt: 'is before',
  lte: 'is at or before',
  isnull: 'has no value',
  like: 'contains, without regard to case, at least 3 characters',
};
const formats: Record<string, Record<string, unknown>> = {
  uuid: { type: 'string', format: 'uuid' },
  time: { type: 'string', format: 'date-time' },
  boolean: { type: 'boolean' },
  text: { type: 'string', maxLength: 256 },
  address: { type: 'string', maxLength: 64 },
};

/** Every filter parameter that a spec understands. */
export function filterParameters(spec: FilterSpec): ParameterDoc[] {
  const fields = Object.entries(spec.fields).flatMap(([name, field]) =>
    operatorsOf(field).map((operator) => {
      const scalar = field.values === undefined ? formats[field.type] : { type: 'string', enum: [...field.values] };
      const schema = operator === 'in' ? { type: 'string' } : operator === 'isnull' ? { type: 'boolean' } : { ...scalar };
      return { name: parameterName(name, operator), description: `${field.meaning}: ${operatorTexts[operator] ?? ''}`, schema };
    }),
  );
  const specials = Object.entries(spec.specials ?? {}).map(([name, special]) => ({
    name,
    description: special.meaning,
    schema: { type: 'string' },
  }));
  return [...fields, ...specials];
}

/** Every parameter of a list: filters, sort, paging and count. */
export function listParameters(spec: ListSpec): ParameterDoc[] {
  return [
    ...filterParameters(spec.filter),
    {
      name: 'order_by',
      description: 'Sort by this field; nulls last, the id breaks ties',
      schema: { type: 'string', enum: Object.keys(spec.sorts), default: spec.defaultSort },
    },
    { name: 'order_dir', description: 'Direction of the sort', schema: { type: 'string', enum: ['asc', 'desc'], default: 'desc' } },
    { name: 'per_page', description: 'Rows per page', schema: { type: 'integer', minimum: 1, maximum: 500, default: 50 } },
    {
      name: 'page',
      description: 'Page from 1; `page` × `per_page` is at most 10,000. Not together with `cursor`',
      schema: { type: 'integer', minimum: 1 },
    },
    {
      name: 'cursor',
      description: '`next_cursor` of the page before; good for the same caller, filter and sort',
      schema: { type: 'string', maxLength: 1024 },
    },
    {
      name: 'count',
      description: '`estimated` counts up to 10,000 and asks the planner beyond; `exact` counts; `none` leaves `total` null',
      schema: { type: 'string', enum: ['estimated', 'exact', 'none'], default: 'estimated' },
    },
  ];
}
