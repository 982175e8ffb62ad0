import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What an export is written with. One expression each, which the planner puts in place of the call:
 * else a cell would cost ten times as much.
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
 * A cell of RFC 4180. What a spreadsheet would take for a formula gets an apostrophe before it, and
 * what has apostrophes before it one more, so that an import can take exactly one away (OWASP CSV
 * Injection). The import has the same characters: src/users-transfer/csv-formula.ts. Hardly any
 * cell needs either: one look decides.
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
