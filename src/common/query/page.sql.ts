import { joinSql, rawSql, sql, type SqlFragment } from './sql';

/** How the rows of a list are ordered. Constant SQL, never input. */
export interface Order {
  /** table and the joins that the sort column, the filter and the columns need */
  from: SqlFragment;
  /** sort column */
  key: SqlFragment;
  /** unique column that breaks ties */
  id: SqlFragment;
  direction: SqlFragment;
}

/** Which rows are on a page, and in which order. */
export interface Keys extends Order {
  where: SqlFragment;
  /** LIMIT, and OFFSET if rows are skipped */
  window: SqlFragment;
}

/** What a page shows of its rows. */
export interface PageColumns {
  columns: SqlFragment;
  /** joins that only the columns need */
  columnJoins?: readonly string[];
  filter: { table: string };
  /** id column of the list's table */
  id: string;
}

/** Renders a page in one pass. For pages whose rows an index returns in order. */
export function plainPageSql(shown: PageColumns, { where, window, ...order }: Keys): SqlFragment {
  return rowsSql(
    shown,
    order,
    sql`where ${where}
      ${inOrder(order)}
      ${window}`,
  );
}

/**
 * Renders a page whose ids are found first, so that the other columns are read for the rows of the
 * page only.
 * @param keys ids of the page, from a function below
 */
export function keyedPageSql(shown: PageColumns, order: Order, keys: SqlFragment): SqlFragment {
  return rowsSql(
    shown,
    order,
    sql`where ${rawSql(shown.id)} = any(
        array(${keys}
        )
      )
      ${inOrder(order)}`,
  );
}

/**
 * Renders the ids of a page, in order. Reads no other columns, so that an index alone can skip
 * rows.
 */
export function orderedKeysSql({ where, window, ...order }: Keys): SqlFragment {
  return sql`
          select ${order.id}
          from ${order.from}
          where ${where}
          ${inOrder(order)}
          ${window}`;
}

/**
 * Renders the ids of a page like `orderedKeysSql`, but finds and sorts all matching rows. A wrong
 * estimate of the planner then costs no more than reading the matching rows.
 */
export function foundKeysSql({ from, where, key, id, direction, window }: Keys): SqlFragment {
  // OFFSET 0 keeps the planner from walking an index in the order of the sort.
  return sql`
          select sort_id
          from (
            select
              ${key} as sort_value,
              ${id} as sort_id
            from ${from}
            where ${where}
            offset 0
          ) found
          order by sort_value ${direction}, sort_id ${direction}
          ${window}`;
}

/**
 * Renders the ids of the first rows that match a filter among the first `rowsMax` rows in order.
 * @param keys.where which rows are read, without the filter
 * @param table name of the only table in `keys.from`
 */
export function walkedKeysSql(
  { where, window, ...order }: Keys,
  { table, filter, rowsMax }: { table: string; filter: SqlFragment; rowsMax: number },
): SqlFragment {
  return sql`
          select ${order.id}
          from (
            select *
            from ${order.from}
            where ${where}
            ${inOrder(order)}
            limit ${rowsMax}
          ) ${rawSql(table)}
          where ${filter}
          ${inOrder(order)}
          ${window}`;
}

/** Adds the column joins last, so that they do not change how the rows of the page are found. */
function rowsSql(shown: PageColumns, { key, id, direction, from }: Order, rest: SqlFragment): SqlFragment {
  const { columns, columnJoins, filter } = shown;
  const table = rawSql(filter.table);
  if (columnJoins === undefined)
    return sql`
      select
        ${columns},
        (${key})::text as cursor_value
      from ${from}
      ${rest}`;
  return sql`
    select
      ${columns},
      cursor_value
    from (
      select
        ${table}.*,
        (${key})::text as cursor_value,
        ${key} as sort_value,
        ${id} as sort_id
      from ${from}
      ${rest}
    ) ${table}
    ${joinSql(columnJoins.map(rawSql), '\n    ')}
    order by sort_value ${direction}, sort_id ${direction}`;
}

function inOrder({ key, id, direction }: Order): SqlFragment {
  return sql`order by ${key} ${direction}, ${id} ${direction}`;
}

/** Renders LIMIT, and OFFSET if rows are skipped. */
export function windowSql(limit: number, offset: number): SqlFragment {
  return offset === 0 ? sql`limit ${limit}` : sql`limit ${limit} offset ${offset}`;
}

/** Renders the table expression of a list with the join of its sort, if there is one. */
export function fromSql(from: SqlFragment, join = ''): SqlFragment {
  return join === '' ? from : sql`${from} ${rawSql(join)}`;
}

/** Renders the columns of a row before the column joins. */
export function rowsOf({ columns, columnJoins, filter }: PageColumns): SqlFragment {
  return columnJoins === undefined ? columns : rawSql(`${filter.table}.*`);
}
