import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds `session_search.mfa` and its index, for the filter `mfa` of sessions. An index of `sessions`
 * would get another entry with each activity and refresh (ADR 12).
 * Runs outside a transaction, so that the build of the index does not block logins.
 */
export class IndexTwoFactorSessions1795200041001 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // No earlier release opens a session with two factors, so the existing rows need no update.
    await runner.query('alter table session_search add column if not exists mfa boolean not null default false');
    await runner.query(add(['mfa'], [`amr @> '{mfa}'`]));
    await runner.query(`
      create or replace function session_search_mfa() returns trigger language plpgsql as $$
      begin
        update session_search set mfa = new.amr @> '{mfa}' where session_id = new.session_id;
        return null;
      end $$`);
    await runner.query(`
      create or replace trigger session_search_mfa after update of amr on sessions for each row
        when (old.amr @> '{mfa}' <> new.amr @> '{mfa}')
        execute function session_search_mfa()`);
    // A concurrent build blocks no writes but waits for all older transactions, such as exports.
    await runner.query('set lock_timeout = 0');
    try {
      // An interrupted build leaves an invalid index.
      await runner.query('drop index concurrently if exists session_search_mfa_idx');
      await runner.query(`
        create index concurrently session_search_mfa_idx on session_search (created_at, session_id) where mfa`);
    } finally {
      await runner.query('reset lock_timeout');
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop trigger session_search_mfa on sessions');
    await runner.query('drop function session_search_mfa');
    await runner.query(add([], []));
    await runner.query('alter table session_search drop column mfa');
  }
}

const copied = ['session_id', 'user_id', 'carrier_id', 'created_at', 'ip', 'user_agent'];

function add(columns: string[], values: string[]): string {
  return `
    create or replace function session_search_add() returns trigger language plpgsql as $$
    begin
      insert into session_search (${[...copied, ...columns].join(', ')})
        select ${[...copied, ...values].join(', ')} from added;
      return null;
    end $$`;
}
