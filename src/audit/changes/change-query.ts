import { type FieldError, invalid } from '../../http/errors/app-error';
import { type Condition, type FilterSpec, parseFilter, type RawQuery } from '../../http/lists/filter';
import { cursorMax, ParameterReader } from '../../http/lists/parameter-reader';
import { filterParameters, type ParameterDoc } from '../../http/lists/parameters';
import type { QueryContext } from '../../access/list-query.decorator';
import { assertHolds } from '../../access/permissions';
import { namedEnum } from '../../platform/named-enum';
import { changedTargets, changeTypes } from '../event-catalogue';

/** A parsed request for changes. */
export interface ChangeQuery {
  conditions: Condition[];
  /** cursor; absent = from the oldest change that is kept */
  after?: string | undefined;
  per_page: number;
  /** seconds to wait for a change */
  wait: number;
  /** whether a change contains the user */
  values: boolean;
}

/** Maximum number of changes per page. */
const perPageMax = 1_000;
const perPageDefault = 100;
/** Longest wait in seconds: shorter than the usual time limits of proxies. */
const waitMax = 30;
/** Parts that a change contains on request. */
const included = namedEnum('ChangeInclude', ['values']);

/** Type of a change: an event of the audit log. */
const types = namedEnum('ChangeType', changeTypes);

/** Filters of the change feed. `change-matcher.ts` applies them in memory. */
export const changeFilter: FilterSpec = {
  selects: 'change',
  fields: {
    type: {
      type: 'text',
      values: types,
      operators: ['eq', 'in'],
      meaning: 'What happened',
    },
    target_type: { type: 'text', values: changedTargets, operators: ['eq', 'in'], meaning: 'Kind of target' },
    carrier_id: { type: 'text', operators: ['eq', 'in'], meaning: 'Carrier of the user concerned' },
  },
};

const example = 'WyI5MTQiLCIwMTkyIl0.mZ4kTq1v';
const options = ['after', 'per_page', 'wait', 'include'];

/** Parameters of the change feed. */
export const changeParameters: ParameterDoc[] = [
  {
    name: 'after',
    description:
      '`next_cursor` of the previous page, or `changes_cursor` of a list or export of users. ' +
      'Without it, the page begins with the oldest change that is kept',
    schema: { type: 'string', minLength: 1, maxLength: cursorMax, example },
  },
  {
    name: 'per_page',
    description: 'Changes per page',
    schema: { type: 'integer', format: 'int32', minimum: 1, maximum: perPageMax, default: perPageDefault },
  },
  {
    name: 'wait',
    description:
      'Seconds to wait for a change if there is none. The response comes with the first changes, at most 100. ' +
      'The wait can end early with an empty page, for example when the service stops',
    schema: { type: 'integer', format: 'int32', minimum: 0, maximum: waitMax, default: 0, example: waitMax },
  },
  {
    name: 'include',
    description: '`values`: adds the user to each change of a user; needs `user:read`',
    schema: { type: 'string', enum: included },
  },
  ...filterParameters(changeFilter),
];

/** Parses the query of the change feed. @throws access.denied, request.invalid */
export function parseChangeQuery(query: RawQuery, { actor }: Pick<QueryContext, 'actor'>): ChangeQuery {
  const errors: FieldError[] = [];
  const read = new ParameterReader(query, errors);
  const values = read.oneOf('include', included, '') === 'values';
  if (values) assertHolds(actor, 'user:read');
  const after = read.text('after', cursorMax);
  const per_page = read.integer('per_page', perPageMax) ?? perPageDefault;
  const wait = read.integer('wait', waitMax, 0) ?? 0;
  const filters = Object.fromEntries(Object.entries(query).filter(([parameter]) => !options.includes(parameter)));
  const conditions = parseFilter(filters, changeFilter, errors);
  if (errors.length > 0) throw invalid(...errors);
  return { conditions, after, per_page, wait, values };
}
