import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the time at which a mailed link was last used. A user who set a password with a link within
 * the last hour needs no mailed code to enrol the first factor (M10).
 */
export class NoteUsedLinks1795200043000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table one_time_tokens add column used_at timestamptz(3)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table one_time_tokens drop column used_at');
  }
}
