import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Builds the index of the users with a second factor, and validates the reasons of ended sessions.
 * Runs outside a transaction, so that neither blocks requests.
 */
export class IndexSecondFactors1795200039000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // A concurrent build blocks no writes but waits for all older transactions, such as exports.
    await runner.query('set lock_timeout = 0');
    try {
      // An interrupted build leaves an invalid index.
      await runner.query('drop index concurrently if exists users_second_factors_idx');
      await runner.query(`
        create index concurrently users_second_factors_idx on users (user_id) where second_factors <> '{}'`);
      await runner.query('alter table sessions validate constraint sessions_ended_reason_check');
    } finally {
      await runner.query('reset lock_timeout');
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index users_second_factors_idx');
  }
}
