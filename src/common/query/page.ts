import type { CursorCodec } from './cursor';
import { filterSql, type FilterSql, isGuess } from './filter.sql';
import { type CountMode, type ListQuery, type ListSpec, perPageDefault, type SortField } from './list-query';
import { joinSql, rawSql, sql, type SqlFragment } from './sql';

type RunQuery = <Row>(query: SqlFragment) => Promise<Row[]>;

/** Runs the queries of a list. */
export interface Queries {
  run: RunQuery;
  /** for a query with few different texts and a plan that does not depend on its values */
  runPrepared: RunQuery;
  /** cached row estimates of the planner, for sets that are too large to count */
  estimates: { get(key: string): number | undefined; set(key: string, value: number): unknown };
}

/** One page of rows. */
export interface Page<Row> {
  items: Row[];
  per_page: number;
  page?: number;
  next_cursor: string | null;
  total: PageTotal | null;
}

/** Number of matching rows: exact (`eq`) or estimated by the planner (`approx`). */
export interface PageTotal {
  value: number;
  relation: 'eq' | 'approx';
}

/** Renders a sort field that is not a plain column of the list's table. */
export interface SortSql {
  /** SQL expression, by default the column with the name of the field */
  column?: string;
  /**
   * set when `column` belongs to another table: the join, and the copy of the id in that table, so
   * that one index holds both
   */
  join?: { sql: string; id: string };
}

/** Renders a list as SQL. */
export interface ListSql {
  list: ListSpec;
  filter: FilterSql;
  /** table expression after FROM */
  from: SqlFragment;
  /** unique column that breaks ties, such as `users.user_id` */
  id: string;
  sorts?: Record<string, SortSql>;
  /** joined table; a sequential scan of it says nothing about how the listed rows are found */
  joined?: string;
}

/** A list as one caller sees it. */
export interface ListSource extends ListSql {
  /** columns of a row, the id included */
  columns: SqlFragment;
  /** condition for the rows that the caller may see */
  visible: SqlFragment;
}

const countedUpTo = 10_000;
const cursorCasts = { text: 'text', time: 'timestamptz' };
/** The planner may be wrong by five times before a set of fewer than 10,000 is not counted. */
const surelyMore = 5 * countedUpTo;

/**
 * Reads one page. Keyset on `(sort column, id)` with nulls last, so that a deep page costs as much
 * as the first and rows that do not change meanwhile appear exactly once.
 */
export async function readPage<Row extends object>(
  queries: Queries,
  source: ListSource,
  query: ListQuery,
  cursors: CursorCodec,
): Promise<Page<Row>> {
  const where = joinSql([source.visible, filterSql(query.conditions, source.filter)], ' and ');
  const offset = query.page === undefined ? 0 : (query.page - 1) * query.per_page;
  const planned = isGuess(query.conditions, source.filter) ? await planFor(queries, source, where) : undefined;
  const findFirst = planned !== undefined && planned.rows <= countedUpTo && planned.byIndex;
  const rows = await readRows<Row>(queries, { source, query, where, findFirst }, offset);
  const hasMore = rows.length > query.per_page;
  const kept = hasMore ? rows.slice(0, query.per_page) : rows;
  const last = kept.at(-1);
  const next_cursor =
    hasMore && last !== undefined
      ? cursors.encode(
          { value: last.cursor_value, id: String(last[source.id.split('.').at(-1) as keyof typeof last]) },
          query.cursorContext,
        )
      : null;
  const seenAll = !hasMore && query.after === undefined && (kept.length > 0 || offset === 0);
  const total =
    seenAll && query.count !== 'none'
      ? exactly(offset + kept.length)
      : await countRows(queries, source, where, query.count, planned?.rows);
  return { items: kept, per_page: query.per_page, page: query.page, next_cursor, total };
}

type KeyedRow<Row> = Row & { cursor_value: string | null };

interface Reading {
  source: ListSource;
  query: ListQuery;
  where: SqlFragment;
  /**
   * find all rows and sort them, instead of walking in order until there are enough: the way that a
   * wrong guess makes no slower than the set is large
   */
  findFirst: boolean;
}

/**
 * The rows of a page and one more. Where the sort column has nulls they are read on their own,
 * after the rest, so that a plain index on `(column, id)` gives both directions.
 */
async function readRows<Row>(
  { run, runPrepared }: Queries,
  reading: Reading,
  offset: number,
): Promise<KeyedRow<Row>[]> {
  const { source, query, where } = reading;
  const { after, per_page } = query;
  const sort = sortOf(source, query);
  // few texts, and all that their plans depend on is in them: planned once, a page costs little
  // more than half
  const isUsual = where.values.length === 0 && per_page === perPageDefault;
  const read = (condition: SqlFragment, limit: number, skip: number) => {
    const page = joinSql([condition, ...afterSql(source, query)], ' and ');
    return isUsual && skip === 0
      ? runPrepared<KeyedRow<Row>>(pageSql(reading, page, rawSql(`limit ${perPageDefault + 1}`)))
      : run<KeyedRow<Row>>(pageSql(reading, page, windowSql(limit, skip)));
  };
  if (sort.nullable !== true) return read(where, per_page + 1, offset);
  const nulls = sql`${where} and ${rawSql(sort.column)} is null`;
  if (after?.value === null) return read(nulls, per_page + 1, 0);
  const values = sql`${where} and ${rawSql(sort.column)} is not null`;
  const rows = await read(values, per_page + 1, offset);
  if (rows.length > per_page) return rows;
  const before = rows.length > 0 || offset === 0 ? offset : await countUpTo(run, source.from, values, offset);
  const rest = await run<KeyedRow<Row>>(
    pageSql(reading, nulls, windowSql(per_page + 1 - rows.length, offset - before)),
  );
  return [...rows, ...rest];
}

function sortOf({ list, filter, sorts }: ListSource, { sort }: ListQuery): SortField & SortSql & { column: string } {
  const field = list.sorts[sort];
  if (field === undefined) throw new Error(`the list has no sort field ${sort}`);
  return { column: `${filter.table}.${sort}`, ...field, ...sorts?.[sort] };
}

function windowSql(limit: number, offset: number): SqlFragment {
  return offset === 0 ? sql`limit ${limit}` : sql`limit ${limit} offset ${offset}`;
}

function pageSql({ source, query, findFirst }: Reading, where: SqlFragment, window: SqlFragment): SqlFragment {
  const { column, join } = sortOf(source, query);
  const [key, id] = [rawSql(column), rawSql(join?.id ?? source.id)];
  const direction = rawSql(query.descending ? 'desc' : 'asc');
  const from = sql`${source.from} ${rawSql(join?.sql ?? '')}`;
  const row = sql`${source.columns}, (${key})::text as cursor_value`;
  if (!findFirst)
    return sql`select ${row} from ${from} where ${where} order by ${key} ${direction}, ${id} ${direction} ${window}`;
  // OFFSET keeps the sort out of the inner query
  return sql`select * from (select ${row}, ${key} as sort_value, ${id} as sort_id from ${from} where ${where} offset 0) found
    order by sort_value ${direction}, sort_id ${direction} ${window}`;
}

function afterSql(source: ListSource, query: ListQuery): SqlFragment[] {
  const { after, descending } = query;
  if (after === undefined) return [];
  const sort = sortOf(source, query);
  const id = rawSql(sort.join?.id ?? source.id);
  const beyond = rawSql(descending ? '<' : '>');
  if (after.value === null) return [sql`${id} ${beyond} ${after.id}::uuid`];
  return [
    sql`(${rawSql(sort.column)}, ${id}) ${beyond} (${after.value}::${rawSql(cursorCasts[sort.type])}, ${after.id}::uuid)`,
  ];
}

/**
 * `estimated` never costs more than counting to 10,000, and asks the planner alone where it is sure
 * of many more.
 */
async function countRows(
  queries: Queries,
  source: ListSource,
  where: SqlFragment,
  mode: CountMode,
  known?: number,
): Promise<PageTotal | null> {
  if (mode === 'none') return null;
  if (mode === 'exact') return exactly(await countUpTo(queries.run, source.from, where, null));
  const planned = known ?? (await planFor(queries, source, where)).rows;
  if (planned > surelyMore) return { value: planned, relation: 'approx' };
  const value = await countUpTo(queries.run, source.from, where, countedUpTo + 1);
  return value <= countedUpTo ? exactly(value) : { value: Math.max(planned, value), relation: 'approx' };
}

async function countUpTo(run: RunQuery, from: SqlFragment, where: SqlFragment, limit: number | null): Promise<number> {
  const limited = limit === null ? sql`` : sql` limit ${limit}`;
  const [row] = await run<{ value: number }>(
    sql`select count(*)::int as value from (select 1 from ${from} where ${where}${limited}) counted`,
  );
  return row?.value ?? 0;
}

/**
 * What the planner thinks of finding all rows: how many they are, and whether no table need be read
 * as a whole.
 */
async function planFor(
  { run, estimates }: Queries,
  { columns, from, joined }: ListSource,
  where: SqlFragment,
): Promise<{ rows: number; byIndex: boolean }> {
  const key = JSON.stringify([from, where]);
  const known = estimates.get(key);
  if (known !== undefined) return { rows: known, byIndex: false };
  const [answer] = await run<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    sql`explain (format json) select ${columns} from ${from} where ${where}`,
  );
  const plan = answer?.['QUERY PLAN'][0].Plan;
  const rows = plan?.['Plan Rows'] ?? 0;
  if (rows > surelyMore) estimates.set(key, rows);
  const whole = JSON.stringify(plan).matchAll(/"Node Type":"Seq Scan"[^{}]*"Relation Name":"(\w+)"/g);
  return { rows, byIndex: [...whole].every(([, table]) => table === joined) };
}

function exactly(value: number): PageTotal {
  return { value, relation: 'eq' };
}
