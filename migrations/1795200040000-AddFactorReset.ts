import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Lets the built-in roles `operator` and `carrier_administrator` reset second factors, and counts
 * the wrong codes at the confirmation of a factor.
 */
export class AddFactorReset1795200040000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table second_factors add column wrong_codes integer not null default 0');
    await runner.query(`
      update roles
      set permissions = permissions || array['user:reset_factors']
      where name in ('operator', 'carrier_administrator')
        and built_in
        and not 'user:reset_factors' = any(permissions)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      update roles
      set permissions = array_remove(permissions, 'user:reset_factors')
      where name in ('operator', 'carrier_administrator') and built_in`);
    await runner.query('alter table second_factors drop column wrong_codes');
  }
}
