import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Marks imported passwords that the password policy has not checked yet.
 * Hash parameters do not reveal the origin: other systems use the same Argon2id parameters.
 */
export class MarkUncheckedPasswords1795200017000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table credentials add column policy_checked boolean not null default true');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table credentials drop column policy_checked');
  }
}
