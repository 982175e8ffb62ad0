import type { CursorCodec } from './cursor';
import { filterSql, type FilterSql, isGuess, isOwn, type Reach } from './filter.sql';
import { type CountMode, type ListQuery, type ListSpec, perPageDefault, type SortField } from './list-query';
import {
  foundKeysSql,
  fromSql,
  keyedPageSql,
  type Order,
  orderedKeysSql,
  plainPageSql,
  rowsOf,
  walkedKeysSql,
  windowSql,
} from './page.sql';
import { joinSql, rawSql, sql, type SqlFragment } from './sql';

type RunQuery = <Row>(query: SqlFragment) => Promise<Row[]>;

/** Runs the queries of a list. */
export interface Queries {
  run: RunQuery;
  /** for queries with few different texts, whose plan does not depend on the values */
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
  /** set when the table is partitioned by `column` */
  partitions?: true;
  /**
   * set when `column` belongs to another table: the copy of the id in that table, so that one index
   * holds both
   */
  id?: string;
  /** join with that table unless the list has it anyway, and the reach of filters on that table */
  join?: { sql: string; reach: Reach };
  /** set when rows are stored roughly in the order of `column`: reading in this order is cheap */
  stored?: true;
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
  /** joins that only the columns need; `columns` then refers to them and to the list's table */
  columnJoins?: readonly string[];
  /** joined tables; a sequential scan of them says nothing about how the listed rows are found */
  joined?: readonly string[];
}

/** A list as one caller sees it. */
export interface ListSource extends ListSql {
  /** columns of a row, the id included */
  columns: SqlFragment;
  /** condition for the rows that the caller may see */
  visible: SqlFragment;
}

const countedUpTo = 10_000;
const cursorCasts = { text: 'text', time: 'timestamptz', integer: 'integer' };
/** Estimates above this number replace a count. An estimate may be wrong by a factor of five. */
const surelyMore = 5 * countedUpTo;
/** Finding 1,000 rows takes longer than walking 4,000 rows in the order of storage. */
const [manyFound, walkedPerFound] = [1_000, 4];

/**
 * Reads one page by keyset on `(sort column, id)`, nulls last.
 * A deep page costs as much as the first. Rows that do not change meanwhile appear exactly once.
 */
export async function readPage<Row extends object>(
  queries: Queries,
  source: ListSource,
  query: ListQuery,
  cursors: CursorCodec,
): Promise<Page<Row>> {
  const where = whereSql(source, query);
  const offset = query.page === undefined ? 0 : (query.page - 1) * query.per_page;
  const planned = isGuess(query.conditions, source.filter) ? await planFor(queries, source, where) : undefined;
  const findFirst = planned !== undefined && planned.rows <= countedUpTo && planned.byIndex;
  const walked =
    findFirst && offset === 0 && planned.rows >= manyFound
      ? await walkRows<Row>(queries, source, query, walkedPerFound * planned.rows)
      : null;
  const sortedWhere = whereSql(source, query, sortOf(source, query).join?.reach);
  const rows = walked ?? (await readRows<Row>(queries, { source, query, where: sortedWhere, findFirst }, offset));
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
      ? { value: offset + kept.length, relation: 'eq' as const }
      : await countRows(queries, source, where, query.count, planned?.rows);
  return { items: kept, per_page: query.per_page, page: query.page, next_cursor, total };
}

function whereSql({ visible, filter }: ListSource, { conditions }: ListQuery, joined?: Reach): SqlFragment {
  return conditions.length === 0 ? visible : joinSql([visible, filterSql(conditions, filter, joined)], '\nand ');
}

type KeyedRow<Row> = Row & { cursor_value: string | null };

interface Reading {
  source: ListSource;
  query: ListQuery;
  where: SqlFragment;
  /**
   * finds all rows and sorts them, instead of walking an index in order until the page is full; a
   * wrong estimate of the planner then costs no more than reading the matching rows
   */
  findFirst: boolean;
}

/**
 * Reads the first rows in the order of the sort and keeps those that match. Saves finding thousands
 * of rows for one page, and costs little more if it fails.
 * @returns null if the page is not full, or if rows are not stored in this order
 */
async function walkRows<Row>(
  { run }: Queries,
  source: ListSource,
  query: ListQuery,
  rowsMax: number,
): Promise<KeyedRow<Row>[] | null> {
  const { filter, visible } = source;
  if (sortOf(source, query).stored !== true || !isOwn(query.conditions, filter)) return null;
  const order = orderOf(source, query);
  const where = joinSql([visible, ...afterSql(source, query)], '\nand ');
  const keys = walkedKeysSql(
    { ...order, where, window: windowSql(query.per_page + 1, 0) },
    { table: filter.table, filter: filterSql(query.conditions, filter), rowsMax },
  );
  const rows = await run<KeyedRow<Row>>(keyedPageSql(source, order, keys));
  return rows.length > query.per_page ? rows : null;
}

/**
 * Reads the rows of a page and one more. Rows with a null in the sort column are read separately,
 * after the others, so that a plain index on `(column, id)` serves both directions.
 */
async function readRows<Row>(
  { run, runPrepared }: Queries,
  reading: Reading,
  offset: number,
): Promise<KeyedRow<Row>[]> {
  const { source, query, where } = reading;
  const { after, per_page } = query;
  const sort = sortOf(source, query);
  // A prepared plan nearly halves the cost of a page. Without a filter, a list has few SQL texts,
  // and no value changes the plan. Any filter excludes the page, even a filter without values,
  // because callers could create an unlimited number of SQL texts (D31).
  const isUsual = query.conditions.length === 0 && where.values.length === 0 && per_page === perPageDefault;
  const read = (condition: SqlFragment, limit: number, skip: number) => {
    const page = joinSql([condition, ...afterSql(source, query)], '\nand ');
    return isUsual && skip === 0
      ? runPrepared<KeyedRow<Row>>(pageSql(reading, page, rawSql(`limit ${perPageDefault + 1}`)))
      : run<KeyedRow<Row>>(pageSql(reading, page, windowSql(limit, skip), skip));
  };
  if (sort.nullable !== true) return read(where, per_page + 1, offset);
  const nulls = sql`${where}\nand ${rawSql(sort.column)} is null`;
  if (after?.value === null) return read(nulls, per_page + 1, 0);
  const values = sql`${where}\nand ${rawSql(sort.column)} is not null`;
  const rows = await read(values, per_page + 1, offset);
  if (rows.length > per_page) return rows;
  const from = fromSql(source.from, sort.join?.sql);
  const before = rows.length > 0 || offset === 0 ? offset : await countUpTo(run, from, values, offset);
  const rest = await run<KeyedRow<Row>>(
    pageSql(reading, nulls, windowSql(per_page + 1 - rows.length, offset - before), offset - before),
  );
  return [...rows, ...rest];
}

function sortOf({ list, filter, sorts }: ListSource, { sort }: ListQuery): SortField & SortSql & { column: string } {
  const field = list.sorts[sort];
  if (field === undefined) throw new Error(`the list has no sort field ${sort}`);
  return { column: `${filter.table}.${sort}`, ...field, ...sorts?.[sort] };
}

function orderOf(source: ListSource, query: ListQuery): Order {
  const { column, id = source.id, join } = sortOf(source, query);
  return {
    key: rawSql(column),
    id: rawSql(id),
    direction: rawSql(query.descending ? 'desc' : 'asc'),
    from: fromSql(source.from, join?.sql),
  };
}

function pageSql(
  { source, query, findFirst }: Reading,
  where: SqlFragment,
  window: SqlFragment,
  skip = 0,
): SqlFragment {
  const order = orderOf(source, query);
  const keys = { ...order, where, window };
  if (!findFirst && skip === 0) return plainPageSql(source, keys);
  return keyedPageSql(source, order, findFirst ? foundKeysSql(keys) : orderedKeysSql(keys));
}

function afterSql(source: ListSource, query: ListQuery): SqlFragment[] {
  const { after, descending } = query;
  if (after === undefined) return [];
  const sort = sortOf(source, query);
  const id = rawSql(sort.id ?? source.id);
  const beyond = rawSql(descending ? '<' : '>');
  const cast = rawSql(cursorCasts[sort.type]);
  if (after.value === null) return [sql`${id} ${beyond} ${after.id}::uuid`];
  const column = rawSql(sort.column);
  const position = sql`(${column}, ${id}) ${beyond} (${after.value}::${cast}, ${after.id}::uuid)`;
  // PostgreSQL does not prune partitions by a comparison of rows.
  return sort.partitions === true ? [position, sql`${column} ${beyond}= ${after.value}::${cast}`] : [position];
}

/**
 * Computes the total. `estimated` counts at most 10,000 rows, and does not count at all if the
 * planner expects many more.
 */
async function countRows(
  queries: Queries,
  source: ListSource,
  where: SqlFragment,
  mode: CountMode,
  known?: number,
): Promise<PageTotal | null> {
  if (mode === 'none') return null;
  if (mode === 'exact') return { value: await countUpTo(queries.run, source.from, where, null), relation: 'eq' };
  const planned = known ?? (await planFor(queries, source, where)).rows;
  if (planned > surelyMore) return { value: planned, relation: 'approx' };
  const value = await countUpTo(queries.run, source.from, where, countedUpTo + 1);
  return value <= countedUpTo ? { value, relation: 'eq' } : { value: Math.max(planned, value), relation: 'approx' };
}

async function countUpTo(run: RunQuery, from: SqlFragment, where: SqlFragment, limit: number | null): Promise<number> {
  const limited = limit === null ? sql`` : sql`limit ${limit}`;
  const [row] = await run<{ value: number }>(sql`
    select count(*)::int as value
    from (
      select 1
      from ${from}
      where ${where}
      ${limited}
    ) counted`);
  return row?.value ?? 0;
}

/** Asks the planner how many rows match, and whether it finds them without a sequential scan. */
async function planFor(
  { run, estimates }: Queries,
  source: ListSource,
  where: SqlFragment,
): Promise<{ rows: number; byIndex: boolean }> {
  const { from, joined = [] } = source;
  const key = JSON.stringify([from, where]);
  const known = estimates.get(key);
  if (known !== undefined) return { rows: known, byIndex: false };
  const [explained] = await run<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(sql`
    explain (format json)
    select ${rowsOf(source)}
    from ${from}
    where ${where}`);
  const plan = explained?.['QUERY PLAN'][0].Plan;
  const rows = plan?.['Plan Rows'] ?? 0;
  if (rows > surelyMore) estimates.set(key, rows);
  const scans = JSON.stringify(plan).matchAll(/"Node Type":"Seq Scan"[^{}]*"Relation Name":"(\w+)"/g);
  return { rows, byIndex: [...scans].every(([, table = '']) => joined.includes(table)) };
}
