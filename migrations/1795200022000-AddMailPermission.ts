import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lets the built-in role `operator` read and retry mails. */
export class AddMailPermission1795200022000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      update roles
      set permissions = array_append(permissions, 'mail:manage')
      where name = 'operator' and built_in and not 'mail:manage' = any(permissions)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      update roles
      set permissions = array_remove(permissions, 'mail:manage')
      where name = 'operator' and built_in`);
  }
}
