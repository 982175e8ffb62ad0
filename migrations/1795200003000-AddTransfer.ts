import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the functions that format an export. Each is a single expression, so that the planner
 * inlines it: a call would cost ten times as much per cell.
 */
export class AddTransfer1795200003000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(functions);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop function csv_cell(text), csv_quoted(text), rfc3339(timestamptz)');
  }
}

/**
 * `csv_cell` formats a cell by RFC 4180. A value that a spreadsheet would treat as a formula gets a
 * leading apostrophe, even after other apostrophes, so that an import can remove exactly one (OWASP
 * CSV Injection). The import has the same characters: src/users-transfer/csv-formula.ts. The first
 * pattern handles most cells with a single match.
 */
const functions = String.raw`
  create function csv_quoted(value text) returns text language sql immutable parallel safe as $$
    select '"' || replace(value, '"', '""') || '"'
  $$;
  create function csv_cell(value text) returns text language sql immutable parallel safe as $$
    select case
      when value is null then ''
      when value !~ '^''*[-=+@\t\r\n＝＋－＠]|[",\r\n]' then value
      when value ~ '^''*[-=+@\t\r\n＝＋－＠]' then csv_quoted('''' || value)
      else csv_quoted(value) end
  $$;
  create function rfc3339(value timestamptz) returns text language sql stable parallel safe as $$
    select to_char(value at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  $$;
`;
