import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Stores with each session how and when its user authenticated.
 * Existing sessions get a null `auth_time`, which stands for `created_at`: no row is rewritten.
 */
export class AddSessionAuthentication1795200018000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      alter table sessions
        add column amr text[] not null default '{pwd}',
        add column auth_time timestamptz(3)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table sessions drop column auth_time, drop column amr');
  }
}
