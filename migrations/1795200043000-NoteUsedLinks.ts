import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Notes when a link was used: its user has just proven the address, or got the link in person. */
export class NoteUsedLinks1795200043000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table one_time_tokens add column used_at timestamptz(3)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table one_time_tokens drop column used_at');
  }
}
