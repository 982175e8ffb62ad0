import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Builds the index of the filter `mfa` of sessions.
 * Runs outside a transaction, so that the build does not block logins.
 */
export class IndexTwoFactorSessions1795200041001 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    // A concurrent build blocks no writes but waits for all older transactions, such as exports.
    await runner.query('set lock_timeout = 0');
    try {
      // An interrupted build leaves an invalid index.
      await runner.query('drop index concurrently if exists sessions_mfa_idx');
      await runner.query(`
        create index concurrently sessions_mfa_idx on sessions (created_at, session_id) where amr @> '{mfa}'`);
    } finally {
      await runner.query('reset lock_timeout');
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index sessions_mfa_idx');
  }
}
