import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Validates the reasons of ended sessions, outside a transaction, so that logins go on. */
export class ValidateEndedReasons1795200056000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table sessions validate constraint sessions_ended_reason_check');
  }

  async down(): Promise<void> {
    // The older constraint was valid.
  }
}
