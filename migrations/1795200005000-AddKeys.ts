import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds API keys. Only the hash of a key is stored, and a request finds its key by the hash.
 * Triggers notify all instances when a key changes or ends (ADR 0010).
 */
export class AddKeys1795200005000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(keys);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table keys');
  }
}

const keys = `
  create table keys (
    key_id uuid constraint keys_pkey primary key,
    name text not null,
    token_hash bytea not null,
    permissions text[] not null,
    user_type text not null constraint keys_user_type_check check (user_type in ('system', 'carrier')),
    carrier_id text,
    carrier_scope text[],
    created_at timestamptz(3) not null default now(),
    created_by uuid not null,
    expires_at timestamptz(3) not null,
    last_used_at timestamptz(3),
    last_used_ip inet,
    revoked_at timestamptz(3),
    revoked_by uuid,
    constraint keys_carrier_check check (
      (user_type = 'carrier') = (carrier_id is not null) and (user_type = 'system' or carrier_scope is null)
    )
  );
  create unique index keys_token_hash_key on keys (token_hash);
  create index keys_created_at_idx on keys (created_at, key_id);
  create trigger key_changed after update on keys for each row
    when ((old.permissions, old.carrier_scope, old.expires_at, old.revoked_at)
      is distinct from (new.permissions, new.carrier_scope, new.expires_at, new.revoked_at))
    execute function notify_change('keys_changed');
  create trigger keys_removed after delete on keys for each statement execute function notify_change('keys_changed');
`;
