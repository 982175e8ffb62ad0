import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds what a login in two steps persists about the password. The first step persists nothing, and
 * the second one does not know the password.
 */
export class CarryPasswordRenewals1795200041000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table login_challenges add column renewal jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table login_challenges drop column renewal');
  }
}
