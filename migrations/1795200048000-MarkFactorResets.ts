import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds whether the factors of a user were reset. Such a user needs a mailed code to enrol the next
 * factor, even if no factor is required. Databases that ran an early version of `AddSecondFactors`
 * already have the column.
 */
export class MarkFactorResets1795200048000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'alter table enrollment_codes add column if not exists after_reset boolean not null default false',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table enrollment_codes drop column if exists after_reset');
  }
}
