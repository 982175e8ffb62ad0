import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the version of roles, which increases with each change. */
export class AddRoleVersions1795200057000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table roles add column version integer not null default 1');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table roles drop column version');
  }
}
