import { namedEnum } from '../../platform/named-enum';
import { AppError, conflictWith, type FieldError, invalid } from '../errors/app-error';
import type { CursorCodec, CursorPosition } from './cursor';
import { type Condition, type FilterSpec, parseFilter, type RawQuery } from './filter';
import { cursorMax, ParameterReader } from './parameter-reader';

/** A field that a list can be sorted by. */
export interface SortField {
  type: 'text' | 'time' | 'integer';
  nullable?: boolean;
}

/** Describes what a list accepts, for the parser and for the OpenAPI document. */
export interface ListSpec {
  /** name of the list; a cursor is bound to it */
  name: string;
  filter: FilterSpec;
  sorts: Record<string, SortField>;
  defaultSort: string;
  /** `desc` if not set */
  defaultDirection?: 'asc';
}

/** How a total is counted. */
export const countModes = namedEnum('CountMode', ['estimated', 'exact', 'none']);
/** Direction of a sort. */
export const directions = namedEnum('SortDirection', ['asc', 'desc']);

/**
 * How the total is computed: counted up to 10,000 and estimated beyond, always counted, or not
 * computed.
 */
export type CountMode = (typeof countModes)[number];

/** A parsed list request. */
export interface ListQuery {
  conditions: Condition[];
  /** name of the sort field */
  sort: string;
  descending: boolean;
  per_page: number;
  /** set in page mode only */
  page?: number;
  /** set when a cursor was given */
  after?: CursorPosition;
  count: CountMode;
  /** returns the cursor of the page after a row */
  cursorAfter: (last: CursorPosition) => string;
}

const pagingParameters = ['order_by', 'order_dir', 'per_page', 'page', 'cursor', 'count'];
/** Default number of rows per page. */
export const perPageDefault = 50;
/** Maximum number of rows per page. */
export const perPageMax = 500;
/** Maximum of `page` × `per_page`. */
export const depthMax = 100_000;

/**
 * Parses the query parameters of a list.
 * @param owner what a cursor is bound to besides the list, its filter and sort
 * @throws request.invalid with each unknown or malformed parameter
 * @throws page.too_deep, page.cursor_invalid
 */
export function parseListQuery(query: RawQuery, spec: ListSpec, owner: string, cursors: CursorCodec): ListQuery {
  const errors: FieldError[] = [];
  const filters = Object.fromEntries(
    Object.entries(query).filter(([parameter]) => !pagingParameters.includes(parameter)),
  );
  const conditions = parseFilter(filters, spec.filter, errors);
  const read = new ParameterReader(query, errors);
  const orderBy = read.oneOf('order_by', Object.keys(spec.sorts), spec.defaultSort);
  const descending = read.oneOf('order_dir', directions, spec.defaultDirection ?? 'desc') === 'desc';
  const count = read.oneOf('count', countModes, 'estimated') as CountMode;
  const per_page = read.integer('per_page', perPageMax) ?? perPageDefault;
  const page = read.integer('page', Number.MAX_SAFE_INTEGER);
  const cursor = read.text('cursor', cursorMax);
  if (page !== undefined && cursor !== undefined) errors.push({ parameter: 'page', ...conflictWith('cursor') });
  if (errors.length > 0) throw invalid(...errors);
  if ((page ?? 0) * per_page > depthMax) throw new AppError('page.too_deep');
  const context = JSON.stringify([spec.name, owner, orderBy, descending, Object.entries(filters).sort()]);
  const after = cursor === undefined ? undefined : cursors.decode(cursor, context);
  const cursorAfter = (last: CursorPosition) => cursors.encode(last, context);
  return { conditions, sort: orderBy, descending, per_page, page, after, count, cursorAfter };
}
