import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the server that the database is known on, so that a restore is noticed, and functions that
 * number the changes of the feed.
 * The numbers are transaction ids. A restored dump is on a server with smaller ids: there,
 * `feed_continue` adds a constant to the ids, so that new changes follow the old ones.
 */
export class AddDatabaseServer1795200070000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table database_server (
        only_row boolean default true constraint database_server_pkey primary key,
        system_identifier text,
        timeline integer,
        recovery_target text,
        history_id uuid not null default gen_random_uuid(),
        constraint database_server_only_row_check check (only_row)
      )`);
    // A standby has no timeline of its own. Some managed servers deny what tells servers apart.
    await runner.query(`
      create function current_server() returns table (system_identifier text, timeline integer, recovery_target text)
      language plpgsql stable as $$
      begin
        return query
          select
            control.system_identifier::text,
            case when not pg_is_in_recovery()
              then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
            end,
            (
              select coalesce(string_agg(setting, ' ' order by name), '')
              from pg_settings
              where name in (
                'recovery_target', 'recovery_target_lsn', 'recovery_target_name', 'recovery_target_time',
                'recovery_target_xid'
              )
                and setting <> ''
            )
          from pg_control_system() control;
      exception when insufficient_privilege or undefined_function or feature_not_supported then
        return;
      end $$`);
    await runner.query(`
      create function feed_tx() returns xid8 language sql stable as 'select pg_current_xact_id()';
      create function feed_horizon() returns xid8 language sql stable
        as 'select pg_snapshot_xmin(pg_current_snapshot())';`);
    // No cursor is further ahead of the last change than 2^32 transactions. The lock waits for
    // transactions that have recorded changes, and later ones use the new functions.
    await runner.query(`
      create function feed_continue() returns void language plpgsql as $$
      declare
        step bigint;
      begin
        lock table only events in share mode;
        select (1::bigint << 32) + greatest(
          feed_horizon()::text::bigint,
          (
            select tx::text::bigint
            from events
            where target_type in ('user', 'session', 'role', 'key')
            order by tx desc nulls last
            limit 1
          ),
          (select max(place_tx::bigint) from webhooks)
        ) - pg_current_xact_id()::text::bigint
        into step;
        execute format(
          'create or replace function feed_tx() returns xid8 language sql stable
            as ''select (pg_current_xact_id()::text::bigint + %1$s)::text::xid8'';
          create or replace function feed_horizon() returns xid8 language sql stable
            as ''select (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + %1$s)::text::xid8''',
          step
        );
      end $$`);
    await runner.query('alter table events alter column tx set default feed_tx()');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table events alter column tx set default pg_current_xact_id()');
    await runner.query('drop function feed_continue(), feed_horizon(), feed_tx(), current_server()');
    await runner.query('drop table database_server');
  }
}
