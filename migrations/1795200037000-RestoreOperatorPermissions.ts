import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Removes `mail:manage` from the built-in role `operator`. A withdrawn migration of an earlier
 * commit, `AddMailPermission`, had added it.
 */
export class RestoreOperatorPermissions1795200037000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      update roles
      set permissions = array_remove(permissions, 'mail:manage')
      where name = 'operator' and built_in and 'mail:manage' = any(permissions)`);
  }

  async down(): Promise<void> {
    // The permission must not return.
  }
}
