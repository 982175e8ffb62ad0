import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Gives `user:read_deleted` to roles and API keys with `user:delete`, which permitted reading
 * deleted users before, and to `auditor`, which has all permissions to read.
 */
export class SplitReadDeleted1795200058000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      update roles
      set permissions = array(select unnest(permissions || '{user:read_deleted}') order by 1), version = version + 1
      where ('user:delete' = any(permissions) or name = 'auditor' and built_in)
        and not 'user:read_deleted' = any(permissions)`);
    await runner.query(`
      update keys
      set permissions = permissions || '{user:read_deleted}'
      where 'user:delete' = any(permissions) and not 'user:read_deleted' = any(permissions)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      update roles
      set permissions = array_remove(permissions, 'user:read_deleted')
      where 'user:read_deleted' = any(permissions)`);
    await runner.query(`
      update keys
      set permissions = array_remove(permissions, 'user:read_deleted')
      where 'user:read_deleted' = any(permissions)`);
  }
}
