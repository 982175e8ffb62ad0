import { Injectable } from '@nestjs/common';
import type { Scope } from '../../access/scope';
import type { Condition } from '../../http/lists/filter';
import { filterSql } from '../../http/lists/filter.sql';
import { joinSql, rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import { Database } from '../../platform/database/database';
import type { Reads } from '../../platform/database/reads';
import type { Snapshot } from '../../platform/database/snapshot';
import type { CellForm } from '../user-fields';
import { userFilterSql } from '../user-list.sql';
import { userColumn, userJoins, visibleUsers } from '../users.sql';
import { numeric } from './files/csv-cells';
import {
  type ExportColumn,
  ignoredColumns,
  importColumns,
  transferColumns,
  type TransferFormat,
} from './files/transfer-columns';

/** A `;` after which a spreadsheet may start a formula, as in `csv_cell`. */
const guardedPart = `;(?=[''"]*[-=+@＝＋－＠])`;
/** Rows per round trip: enough to hide its latency, few enough to keep the memory small. */
const rowsPerFetch = 100;

/** Users to export, and the form of their file. */
export interface ExportRequest {
  /** carrier or user; each holder has one export at a time */
  holder: string;
  scope: Scope;
  conditions: Condition[];
  format: TransferFormat;
  columns: readonly ExportColumn[];
  /** character between the cells of a CSV file */
  delimiter: string;
  /** includes the password hash of users without these roles; null = no hashes */
  hashes_unless_roles: string[] | null;
}

/** An export that has not been read yet. */
export interface OpenExport {
  /** number of users */
  count: number;
  /** lines of the file, many to a text. Read it to the end, or call its `return`. */
  texts: AsyncGenerator<string>;
  /** ends the export without reading it */
  close: () => Promise<void>;
}

/** SQL of exports. The database formats the lines of the file. */
@Injectable()
export class UsersExportRepository {
  constructor(private readonly database: Database) {}

  /** Opens an export of the users in a scope that match a filter, from one snapshot. */
  async open(request: ExportRequest, signal: AbortSignal, reads?: Reads): Promise<OpenExport> {
    const { holder, scope, conditions, format } = request;
    const condition = sql`users.deleted_at is null
    and ${visibleUsers(scope)}
    and ${filterSql(conditions, userFilterSql)}`;
    const source = sql`users where ${condition}`;
    const lines = format === 'csv' ? csvLines(condition, request) : jsonLines(condition, request);
    const snapshot = await (reads ?? this.database).openSnapshot(holder, signal);
    return readAll(snapshot, source, lines, format === 'csv' ? '\r\n' : '\n');
  }

  /** Opens a CSV file of the rows that an operation skipped, in the order of the imported file. */
  async openSkipped(holder: string, operation_id: string, signal: AbortSignal): Promise<OpenExport> {
    const source = sql`operation_skipped where operation_id = ${operation_id}::uuid`;
    return readAll(await this.database.openSnapshot(holder, signal), source, skippedLines(operation_id), '\r\n');
  }
}

async function readAll(snapshot: Snapshot, source: SqlFragment, lines: SqlFragment, end: string): Promise<OpenExport> {
  try {
    const [found] = await snapshot.run<{ count: number }>(sql`
      select count(*)::integer as count
      from ${source}`);
    const texts = snapshot.texts(lines, rowsPerFetch, end);
    return { count: found?.count ?? 0, texts, close: () => snapshot.close() };
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

function csvLines(condition: SqlFragment, { columns, delimiter }: ExportRequest): SqlFragment {
  const cell: Record<CellForm, (column: string) => string> = {
    text: (column) => `csv_cell(${column})`,
    list: (column) => `case
      when ${column} is null then ''
      when array_to_string(${column}, ';') ~ '${numeric.source}' then csv_quoted(to_json(${column})::text)
      else csv_cell(array_to_string(${column}, ';'))
    end`,
    // Escapes each `;` that `csv_cell` would guard. JSON escapes tabs and line breaks itself.
    json: (column) =>
      `coalesce(csv_quoted(regexp_replace(to_json(${column})::text, '${guardedPart}', '\\\\u003b', 'g')), '')`,
    code: (column) => `coalesce(${column}::text, '')`,
    boolean: (column) => `${column}::text`,
    time: (column) => `coalesce(rfc3339(${column}), '')`,
    address: (column) => `coalesce(host(${column}), '')`,
  };
  const cells = columns.map((name) => rawSql(cell[transferColumns[name]](userColumn(name))));
  return sql`
    select concat_ws(${delimiter}::text, ${joinSql(cells, ', ')})
    from users
    ${userJoins}
    where ${condition}
    order by users.user_id`;
}

function jsonLines(condition: SqlFragment, { columns: names, hashes_unless_roles }: ExportRequest): SqlFragment {
  const value = (column: string, form: CellForm) =>
    form === 'time' ? `rfc3339(${column})` : form === 'address' ? `host(${column})` : column;
  const columns = names.map((name) => rawSql(`${value(userColumn(name), transferColumns[name])} as ${name}`));
  const hash = sql`(
        select password_hash
        from credentials
        where credentials.user_id = users.user_id
          and (credentials.expires_at is null or credentials.expires_at > now())
          and not users.roles && ${hashes_unless_roles}::text[]
      ) as password_hash`;
  const all = hashes_unless_roles === null ? columns : [...columns, hash];
  return sql`
    select row_to_json(line)::text
    from (
      select ${joinSql(all, ', ')}
      from users
      ${userJoins}
      where ${condition}
      order by users.user_id
    ) line`;
}

function skippedLines(operation_id: string): SqlFragment {
  const cells = Object.keys(importColumns).map((column) => rawSql(`csv_cell(cells ->> '${column}')`));
  return sql`
    select ${joinSql([rawSql(skippedCells.import_line), rawSql(skippedCells.import_errors), ...cells], ` || ',' || `)}
    from operation_skipped
    where operation_id = ${operation_id}::uuid
    order by line`;
}

/** The cells of the columns that an import ignores. */
const skippedCells: Record<(typeof ignoredColumns)[number], string> = {
  import_line: 'line::text',
  import_errors: `csv_cell((
      select string_agg(ltrim(concat(error ->> 'pointer', ' ', error ->> 'detail')), '; ' order by place)
      from jsonb_array_elements(errors) with ordinality as faults (error, place)
    ))`,
};
