import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Builds the indexes of the filters `locked_until` and `must_enroll_second_factor` of users. Only
 * few users have these values. Runs outside a transaction, so that the builds do not block changes
 * of users.
 */
export class IndexUserWarnings1795200051000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // A concurrent build blocks no writes but waits for all older transactions, such as exports.
    await runner.query('set lock_timeout = 0');
    try {
      for (const column of columns) {
        // An interrupted build leaves an invalid index.
        await runner.query(`drop index concurrently if exists users_${column}_idx`);
        await runner.query(`
          create index concurrently users_${column}_idx on users (${column})
          where ${column} is not null and deleted_at is null`);
      }
    } finally {
      await runner.query('reset lock_timeout');
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const column of columns) await runner.query(`drop index users_${column}_idx`);
  }
}

const columns = ['locked_until', 'second_factor_required_from'];
