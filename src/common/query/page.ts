import type { CursorCodec } from './cursor';
import { filterSql } from './filter-sql';
import type { CountMode, ListQuery } from './list-query';
import { joinSql, rawSql, sql, type SqlFragment } from './sql';

/** Runs a query and returns its rows. */
export type RunQuery = <Row>(query: SqlFragment) => Promise<Row[]>;

/** One page of rows, with what the answer needs besides. */
export interface Page<Row> {
  items: Row[];
  per_page: number;
  page?: number;
  next_cursor: string | null;
  total: PageTotal | null;
}

/** How many rows the filter finds: exactly, or as the planner believes. */
export interface PageTotal {
  value: number;
  relation: 'eq' | 'approx';
}

/** Where the rows come from. */
export interface ListSource {
  /** columns of a row */
  columns: SqlFragment;
  /** table expression after FROM */
  from: SqlFragment;
  /** unique column that breaks ties */
  id: string;
  /** name under which the unique column appears in a row */
  idName: string;
  /** what the caller may see; joined to the filter by AND */
  visible: SqlFragment;
}

const countedUpTo = 10_000;
/** The planner may be wrong by this much before a set of fewer than 10,000 is not counted. */
const plannerFactor = 5;

/**
 * Reads one page. Keyset on `(sort column, id)` with nulls last, so that a deep page costs as much as the first and
 * rows that do not change meanwhile appear exactly once.
 */
export async function readPage<Row extends object>(
  run: RunQuery,
  source: ListSource,
  query: ListQuery,
  cursors: CursorCodec,
): Promise<Page<Row>> {
  const where = joinSql([source.visible, filterSql(query.conditions)], ' and ');
  const rows = await run<Row & { cursor_value: string | null }>(pageSql(source, query, where));
  const hasMore = rows.length > query.per_page;
  const kept = hasMore ? rows.slice(0, query.per_page) : rows;
  const last = kept.at(-1);
  const next_cursor =
    hasMore && last !== undefined
      ? cursors.encode({ value: last.cursor_value, id: String(last[source.idName as keyof typeof last]) }, query.cursorContext)
      : null;
  return {
    items: kept,
    per_page: query.per_page,
    page: query.page,
    next_cursor,
    total: await countRows(run, source.from, where, query.count),
  };
}

/** `estimated` never costs more than counting to 10,000, and asks the planner alone where it is sure of many more. */
async function countRows(run: RunQuery, from: SqlFragment, where: SqlFragment, mode: CountMode): Promise<PageTotal | null> {
  if (mode === 'none') return null;
  const planned = mode === 'exact' ? 0 : await plannedRows(run, from, where);
  if (planned > countedUpTo * plannerFactor) return { value: planned, relation: 'approx' };
  const counted =
    mode === 'exact' ? sql`select 1 from ${from} where ${where}` : sql`select 1 from ${from} where ${where} limit ${countedUpTo + 1}`;
  const [row] = await run<{ value: number }>(sql`select count(*)::int as value from (${counted}) counted`);
  const value = row?.value ?? 0;
  if (mode === 'exact' || value <= countedUpTo) return { value, relation: 'eq' };
  return { value: Math.max(planned, value), relation: 'approx' };
}

async function plannedRows(run: RunQuery, from: SqlFragment, where: SqlFragment): Promise<number> {
  const [plan] = await run<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    sql`explain (format json) select 1 from ${from} where ${where}`,
  );
  return plan?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}

function pageSql(source: ListSource, query: ListQuery, where: SqlFragment): SqlFragment {
  const column = rawSql(query.sort.column);
  const id = rawSql(source.id);
  const direction = rawSql(query.descending ? 'desc' : 'asc');
  const nulls = rawSql(query.sort.nullable === true ? ' nulls last' : '');
  const all = query.after === undefined ? where : sql`${where} and ${afterSql(source, query)}`;
  const offset = query.page === undefined ? rawSql('') : sql` offset ${(query.page - 1) * query.per_page}`;
  return sql`select ${source.columns}, (${column})::text as cursor_value from ${source.from} where ${all}
    order by ${column} ${direction}${nulls}, ${id} ${direction} limit ${query.per_page + 1}${offset}`;
}

function afterSql(source: ListSource, query: ListQuery): SqlFragment {
  const { value, id } = query.after ?? { value: null, id: '' };
  const column = rawSql(query.sort.column);
  const beyond = rawSql(query.descending ? '<' : '>');
  if (value === null) return sql`(${column} is null and ${rawSql(source.id)} ${beyond} ${id}::uuid)`;
  const row = sql`(${column}, ${rawSql(source.id)}) ${beyond} (${value}::${rawSql(query.sort.type)}, ${id}::uuid)`;
  return query.sort.nullable === true ? sql`(${row} or ${column} is null)` : row;
}
