import { filterSql, type FilterSql, type Reach } from './filter.sql';
import { type CountMode, type ListQuery, type ListSpec, perPageDefault, type SortField } from './list-query';
import { columnName, numberedPageSql, pageSql } from './page.sql';
import { joinSql, rawSql, sql, type SqlFragment } from './sql';

type RunQuery = <Row>(query: SqlFragment) => Promise<Row[]>;

/** Runs the queries of a list. */
export interface Queries {
  run: RunQuery;
  /** for queries with few different texts, whose plan does not depend on the values */
  runPrepared: RunQuery;
  /** the server shows all changes of transactions with a smaller id, for the next cursor */
  since?: string;
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

/**
 * Number of rows that a filtered page is planned for, per row that it reads.
 * With a factor of 1, the planner reads in sort order even if it expects few matches, and reads the
 * whole table if the matches are at the end of the order. With a million users, the 2,500 matches
 * of `q=ada zuse` by name took more than 15 s. They take 50 ms.
 */
const plannedPerRow = 10;

/**
 * Reads one page by keyset on `(sort column, id)`, nulls last.
 * A deep page costs as much as the first. Rows that do not change meanwhile appear exactly once.
 */
export async function readPage<Row extends object>(
  queries: Queries,
  source: ListSource,
  query: ListQuery,
): Promise<Page<Row>> {
  const offset = query.page === undefined ? 0 : (query.page - 1) * query.per_page;
  const rows = await readRows<Row>(queries, source, query, offset);
  const hasMore = rows.length > query.per_page;
  const kept = hasMore ? rows.slice(0, query.per_page) : rows;
  const last = kept.at(-1);
  const next_cursor =
    hasMore && last !== undefined
      ? query.cursorAfter({
          value: last.cursor_value,
          id: String(last[columnName(source.id) as keyof typeof last]),
          since: query.after?.since ?? queries.since,
        })
      : null;
  const seenAll = !hasMore && query.after === undefined && (kept.length > 0 || offset === 0);
  const total =
    seenAll && query.count !== 'none'
      ? { value: offset + kept.length, relation: 'eq' as const }
      : await countRows(queries, source, whereSql(source, query), query.count);
  return { items: kept, per_page: query.per_page, page: query.page, next_cursor, total };
}

function whereSql({ visible, filter }: ListSource, { conditions }: ListQuery, joined?: Reach): SqlFragment {
  return conditions.length === 0 ? visible : joinSql([visible, filterSql(conditions, filter, joined)], '\nand ');
}

type KeyedRow<Row> = Row & { cursor_value: string | null };

/**
 * Reads the rows of a page and one more. Rows with a null in the sort column are read separately,
 * after the others, so that a plain index on `(column, id)` serves both directions.
 */
async function readRows<Row>(
  { run, runPrepared }: Queries,
  source: ListSource,
  query: ListQuery,
  offset: number,
): Promise<KeyedRow<Row>[]> {
  const { after, per_page } = query;
  const { column, id = source.id, join, nullable } = sortOf(source, query);
  const from = join === undefined ? source.from : sql`${source.from} ${rawSql(join.sql)}`;
  const order = { key: rawSql(column), id: rawSql(id), direction: rawSql(query.descending ? 'desc' : 'asc'), from };
  const where = whereSql(source, query, join?.reach);
  const isFiltered = query.conditions.length > 0 || where.values.length > 0;
  const read = (conditions: SqlFragment[], rows: number, skip: number) => {
    // A prepared plan nearly halves the cost of a page. Without a filter, a list has few SQL texts,
    // and no value changes the plan. Any filter excludes the page, even a filter without values,
    // because callers could create an unlimited number of SQL texts (D31).
    const isUsual = !isFiltered && skip === 0 && rows === perPageDefault + 1;
    const number = (value: number) => (isUsual ? rawSql(String(value)) : sql`${value}`);
    const page = {
      ...order,
      where: joinSql([where, ...conditions], '\nand '),
      limit: number(rows),
      planned: number(isFiltered ? rows * plannedPerRow : rows),
    };
    if (isUsual) return runPrepared<KeyedRow<Row>>(pageSql(source, page));
    return run<KeyedRow<Row>>(skip > 0 ? numberedPageSql(source, page, skip) : pageSql(source, page));
  };
  const position = afterSql(source, query);
  if (nullable !== true) return read(position, per_page + 1, offset);
  const isNull = sql`${order.key} is null`;
  if (after?.value === null) return read([isNull, ...position], per_page + 1, 0);
  const isSet = sql`${order.key} is not null`;
  const rows = await read([isSet, ...position], per_page + 1, offset);
  if (rows.length > per_page) return rows;
  const before =
    rows.length > 0 || offset === 0 ? offset : await countUpTo(run, from, sql`${where}\nand ${isSet}`, offset);
  return [...rows, ...(await read([isNull], per_page + 1 - rows.length, offset - before))];
}

function sortOf({ list, filter, sorts }: ListSource, { sort }: ListQuery): SortField & SortSql & { column: string } {
  const field = list.sorts[sort];
  if (field === undefined) throw new Error(`the list has no sort field ${sort}`);
  return { column: `${filter.table}.${sort}`, ...field, ...sorts?.[sort] };
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
): Promise<PageTotal | null> {
  if (mode === 'none') return null;
  if (mode === 'exact') return { value: await countUpTo(queries.run, source.from, where, null), relation: 'eq' };
  const estimate = await estimateRows(queries, source.from, where);
  if (estimate > surelyMore) return { value: estimate, relation: 'approx' };
  const value = await countUpTo(queries.run, source.from, where, countedUpTo + 1);
  return value <= countedUpTo ? { value, relation: 'eq' } : { value: Math.max(estimate, value), relation: 'approx' };
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

/** Returns the planner's estimate of the number of matching rows. Used only for totals. */
async function estimateRows({ run, estimates }: Queries, from: SqlFragment, where: SqlFragment): Promise<number> {
  const key = JSON.stringify([from, where]);
  const known = estimates.get(key);
  if (known !== undefined) return known;
  const [explained] = await run<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(sql`
    explain (format json)
    select 1
    from ${from}
    where ${where}`);
  const rows = explained?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
  if (rows > surelyMore) estimates.set(key, rows);
  return rows;
}
