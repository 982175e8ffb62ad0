import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Guards formulas within cells of an export, for spreadsheets that split cells at `;` or tab. */
export class GuardCellParts1795200025000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(guardParts);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(guardStart);
  }
}

/**
 * A spreadsheet with the list separator `;` splits an export at each `;`. Quotes do not protect the
 * parts of a cell, because the quote is then in the middle of a cell. So each part that is a
 * formula gets its own apostrophe, also behind quotes. Still a single expression, which the planner
 * inlines. The import tests the same characters: src/users-transfer/csv-formula.ts.
 */
const guardParts = String.raw`
  create or replace function csv_cell(value text) returns text language sql immutable parallel safe as $$
    select case
      when value is null then ''
      when value !~ '^''*[-=+@\t\r\n＝＋－＠]|[",;\t\r\n]' then value
      else csv_quoted(
        case when value ~ '^''*[-=+@\t\r\n＝＋－＠]' then '''' else '' end
        || regexp_replace(value, '([;\t\r\n])(?=[''"]*[-=+@＝＋－＠])', '\1''', 'g')
      ) end
  $$;
`;

const guardStart = String.raw`
  create or replace function csv_cell(value text) returns text language sql immutable parallel safe as $$
    select case
      when value is null then ''
      when value !~ '^''*[-=+@\t\r\n＝＋－＠]|[",\r\n]' then value
      when value ~ '^''*[-=+@\t\r\n＝＋－＠]' then csv_quoted('''' || value)
      else csv_quoted(value) end
  $$;
`;
