import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the stored responses to requests with an `Idempotency-Key`. */
export class AddIdempotencyKeys1795200002000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // json, not jsonb: jsonb sorts the fields, but a repeated response must be identical.
    await runner.query(`
      create table idempotency_keys (
        user_id uuid not null,
        method text not null,
        path text not null,
        key_hash bytea not null,
        request_hash bytea,
        claim_id uuid not null,
        claimed_until timestamptz(3) not null,
        status integer,
        answer json,
        created_at timestamptz(3) not null default now(),
        constraint idempotency_keys_pkey primary key (user_id, method, path, key_hash)
      )`);
    await runner.query('create index idempotency_keys_created_at_idx on idempotency_keys (created_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table idempotency_keys');
  }
}
