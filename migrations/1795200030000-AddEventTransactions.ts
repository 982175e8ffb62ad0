import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the id of the transaction to events, so that a later export can read them in commit order.
 * Earlier events have no id: a default in ADD COLUMN would give all of them the id of this
 * transaction.
 */
export class AddEventTransactions1795200030000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Makes autovacuum release the table before a statement waits for a lock that blocks writers.
    await runner.query('lock table events in share update exclusive mode');
    await runner.query(`set local lock_timeout = '500ms'`);
    await runner.query('alter table events add column tx xid8');
    await runner.query('alter table events alter column tx set default pg_current_xact_id()');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table events drop column tx');
  }
}
