import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds `session_search`: the columns of sessions that never change, for filters and sorts. Activity
 * or a refresh then adds an entry to four indexes of `sessions` instead of nine (ADR 12).
 * `FillActivityTables` copies the existing rows and builds the indexes.
 */
export class AddSessionSearch1795200027000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(sessionSearch);
    // With free space on the page of a session, the WAL contains only the changed part of the row.
    await runner.query(`
      alter table sessions set (
        fillfactor = 80,
        autovacuum_vacuum_scale_factor = 0.02,
        autovacuum_vacuum_threshold = 1000
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      alter table sessions reset (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
      drop trigger session_search_add on sessions;
      drop function session_search_add();
      drop table session_search;
    `);
  }
}

const sessionSearch = `
  create table session_search (
    session_id uuid constraint session_search_pkey primary key
      constraint session_search_session_id_fkey references sessions (session_id) on delete cascade,
    user_id uuid not null,
    carrier_id text,
    created_at timestamptz(3) not null,
    ip inet,
    user_agent text
  ) with (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);
  create function session_search_add() returns trigger language plpgsql as $$
  begin
    insert into session_search (session_id, user_id, carrier_id, created_at, ip, user_agent)
      select session_id, user_id, carrier_id, created_at, ip, user_agent from added;
    return null;
  end $$;
  create trigger session_search_add after insert on sessions referencing new table as added
    for each statement execute function session_search_add();
`;
