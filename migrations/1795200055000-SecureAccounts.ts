import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Prepares the tables for securing an account: a voided password is a row without a hash, API keys
 * can be suspended, and sessions end with the reason `secured`. `counts` are further results of an
 * operation.
 */
export class SecureAccounts1795200055000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table credentials alter column password_hash drop not null');
    await runner.query('alter table keys add column suspended_at timestamptz(3)');
    await runner.query(keyChanged('suspended_at'));
    await runner.query(`alter table operations add column counts jsonb not null default '{}'`);
    // The next migration validates the constraint without blocking logins.
    await runner.query(endedReasons([...reasons, 'secured'], 'not valid'));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`update sessions set ended_reason = 'password_changed' where ended_reason = 'secured'`);
    await runner.query(endedReasons(reasons));
    await runner.query('alter table operations drop column counts');
    // A release that knows no suspended keys would accept them again.
    await runner.query('update keys set revoked_at = now() where suspended_at is not null and revoked_at is null');
    await runner.query(keyChanged('revoked_at'));
    await runner.query('alter table keys drop column suspended_at');
    await runner.query('delete from credentials where password_hash is null');
    await runner.query('alter table credentials alter column password_hash set not null');
  }
}

/** @param column further column of which a change is notified */
function keyChanged(column: string): string {
  return `
    create or replace trigger key_changed after update on keys for each row
      when ((old.permissions, old.carrier_scope, old.expires_at, old.revoked_at, old.${column})
        is distinct from (new.permissions, new.carrier_scope, new.expires_at, new.revoked_at, new.${column}))
      execute function notify_change('keys_changed')`;
}

const reasons = [
  'logout',
  'revoked',
  'expired',
  'replaced',
  'token_reuse',
  'password_changed',
  'ip_not_allowed',
  'user_disabled',
  'user_deleted',
  'factors_changed',
];

function endedReasons(allowed: string[], validity = ''): string {
  const list = allowed.map((reason) => `'${reason}'`).join(', ');
  return `
    alter table sessions
      drop constraint sessions_ended_reason_check,
      add constraint sessions_ended_reason_check check (ended_reason in (${list})) ${validity}`;
}
