import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the time when a signing key begins to sign, some time after its publication. Existing keys
 * signed from the beginning. A trigger notifies all instances (ADR 0010).
 */
export class RotateSigningKeys1795200007000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table signing_keys add signs_from timestamptz(3) not null default now()`);
    await runner.query(`update signing_keys set signs_from = created_at`);
    await runner.query(`
      create trigger signing_keys_changed after insert or update or delete on signing_keys
      for each statement execute function notify_change('signing_keys_changed')`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop trigger signing_keys_changed on signing_keys`);
    await runner.query(`alter table signing_keys drop signs_from`);
  }
}
