import { Injectable } from '@nestjs/common';
import { joinSql, rawSql, sql, type SqlFragment } from '../common/query/sql';
import { Database } from '../database/database';
import { type ColumnKind, transferColumns, type TransferFormat } from './transfer-columns';

/**
 * Rows to a piece: enough that the way to the database does not count, few enough that a piece is
 * small.
 */
const rowsAtOnce = 100;

/** Users that were found, and how to read them. */
export interface FoundUsers {
  count: number;
  /** line by line, many to a text; to be read to the end, or returned */
  texts: AsyncGenerator<string>;
  /** gives up before they are read */
  close: () => Promise<void>;
}

/** What is to be read. */
export interface ExportWish {
  /** who reads; one export each */
  holder: string;
  /** which users */
  condition: SqlFragment;
  format: TransferFormat;
  /** of users with none of these roles the password hash is written too; null: of nobody */
  hashes_unless_roles: string[] | null;
}

/** The SQL of exports: the database writes the lines, this process hands them on. */
@Injectable()
export class UsersExportRepository {
  constructor(private readonly database: Database) {}

  /** Finds users as of now. */
  async open({ holder, condition, format, hashes_unless_roles }: ExportWish, signal: AbortSignal): Promise<FoundUsers> {
    const snapshot = await this.database.openSnapshot(holder, signal);
    try {
      const [found] = await snapshot.run<{ count: number }>(
        sql`select count(*)::integer as count from users where ${condition}`,
      );
      const lines = format === 'csv' ? csvLines(condition) : jsonLines(condition, hashes_unless_roles);
      const texts = snapshot.texts(lines, rowsAtOnce, format === 'csv' ? '\r\n' : '\n');
      return { count: found?.count ?? 0, texts, close: () => snapshot.close() };
    } catch (error) {
      await snapshot.close();
      throw error;
    }
  }
}

function csvLines(condition: SqlFragment): SqlFragment {
  const cell: Record<ColumnKind, (column: string) => string> = {
    text: (column) => `csv_cell(${column})`,
    json: (column) => `coalesce(csv_quoted(to_json(${column})::text), '')`,
    code: (column) => `coalesce(${column}::text, '')`,
    boolean: (column) => `${column}::text`,
    time: (column) => `coalesce(rfc3339(${column}), '')`,
    address: (column) => `coalesce(host(${column}), '')`,
  };
  const cells = Object.entries(transferColumns).map(([name, kind]) => rawSql(cell[kind](`users.${name}`)));
  return sql`select ${joinSql(cells, ` || ',' || `)} from users where ${condition} order by users.user_id`;
}

function jsonLines(condition: SqlFragment, hashes_unless_roles: string[] | null): SqlFragment {
  const value = (column: string, kind: ColumnKind) =>
    kind === 'time' ? `rfc3339(${column})` : kind === 'address' ? `host(${column})` : column;
  const columns = Object.entries(transferColumns).map(([name, kind]) =>
    rawSql(`${value(`users.${name}`, kind)} as ${name}`),
  );
  const hash = sql`(select password_hash from credentials where credentials.user_id = users.user_id
    and (credentials.expires_at is null or credentials.expires_at > now()) and not users.roles && ${hashes_unless_roles}::text[]) as password_hash`;
  const all = hashes_unless_roles === null ? columns : [...columns, hash];
  return sql`select row_to_json(line)::text from (select ${joinSql(all, ', ')} from users where ${condition} order by users.user_id) line`;
}
