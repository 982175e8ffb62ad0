import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lets the retention find the users that were deleted longest ago. Does not block writers. */
export class IndexDeletedUsers1795200033000 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // The build waits for earlier transactions, such as a backup, and does not block writers.
    await runner.query('set lock_timeout = 0');
    try {
      // An interrupted build leaves an invalid index.
      await runner.query('drop index concurrently if exists users_purge_idx');
      await runner.query(
        'create index concurrently users_purge_idx on users (deleted_at, user_id) where deleted_at is not null',
      );
    } finally {
      await runner.query('reset lock_timeout');
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index users_purge_idx');
  }
}
