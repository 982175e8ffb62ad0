import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Keeps `AddDatabaseServer` from being undone after `feed_continue`. Plain transaction ids are
 * smaller than the numbers of the changes until then, so readers of the feed would miss changes.
 */
export class KeepContinuedFeed1795200071000 implements MigrationInterface {
  /** Changes nothing. */
  async up(): Promise<void> {}

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      do $$ begin
        if feed_tx() <> pg_current_xact_id() then
          raise exception 'the change feed continues after a restore, and needs the migration AddDatabaseServer';
        end if;
      end $$`);
  }
}
