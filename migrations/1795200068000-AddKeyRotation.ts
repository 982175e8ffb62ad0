import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the previous secret of a rotated API key, and who rotated it. A rotation notifies the caches
 * of all instances.
 */
export class AddKeyRotation1795200068000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      alter table keys
        add column previous_hash bytea,
        add column previous_until timestamptz(3),
        add column previous_last_used_at timestamptz(3),
        add column rotated_at timestamptz(3),
        add column rotated_by uuid`);
    await runner.query('create unique index keys_previous_hash_key on keys (previous_hash)');
    await runner.query(keyChanged(['suspended_at', 'token_hash', 'previous_until']));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(keyChanged(['suspended_at']));
    await runner.query(`
      alter table keys
        drop column previous_hash,
        drop column previous_until,
        drop column previous_last_used_at,
        drop column rotated_at,
        drop column rotated_by`);
  }
}

/** @param columns further columns of which a change is notified */
function keyChanged(columns: string[]): string {
  const row = (state: string) =>
    ['permissions', 'carrier_scope', 'expires_at', 'revoked_at', ...columns].map((name) => `${state}.${name}`).join();
  return `
    create or replace trigger key_changed after update on keys for each row
      when ((${row('old')}) is distinct from (${row('new')}))
      execute function notify_change('keys_changed')`;
}
