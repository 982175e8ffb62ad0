import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Makes names of roles unique, ignoring case, and valid in a path. */
export class AddRoleNames1795200009000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create unique index roles_name_key on roles (lower(name))');
    await runner.query(
      `alter table roles add constraint roles_name_check check (name ~ '^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$')`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table roles drop constraint roles_name_check');
    await runner.query('drop index roles_name_key');
  }
}
