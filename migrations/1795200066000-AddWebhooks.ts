import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds webhooks and their deliveries. Deliveries have no foreign key: they are removed by their
 * age, so that deleting a webhook stays a short transaction.
 */
export class AddWebhooks1795200066000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table webhooks (
        webhook_id uuid constraint webhooks_pkey primary key,
        url text not null,
        description text,
        type_in text[] not null,
        carrier_scope text[],
        include_values boolean not null,
        user_type text not null,
        carrier_id text,
        created_by uuid not null,
        created_at timestamptz(3) not null default now(),
        updated_at timestamptz(3) not null default now(),
        state text not null default 'active',
        disabled_reason text,
        secret bytea not null,
        old_secret bytea,
        old_secret_until timestamptz(3),
        place_tx text not null,
        place_id uuid not null,
        place_at timestamptz(3) not null,
        failures integer not null default 0,
        failing_since timestamptz(3),
        next_attempt_at timestamptz(3) not null default now(),
        last_attempt_at timestamptz(3),
        last_status integer,
        last_error text,
        claimed_by uuid,
        claimed_until timestamptz(3),
        constraint webhooks_state_check check (
          state in ('active', 'failing', 'disabled') and (state = 'disabled') = (disabled_reason is not null)
        )
      )`);
    await runner.query('create index webhooks_created_at_idx on webhooks (created_at, webhook_id)');
    await runner.query(`
      create table webhook_deliveries (
        delivery_id uuid constraint webhook_deliveries_pkey primary key,
        webhook_id uuid not null,
        kind text not null,
        change_id uuid,
        type text not null,
        attempt integer not null,
        created_at timestamptz(3) not null default now(),
        attempted_at timestamptz(3),
        status integer,
        error text,
        duration_ms integer,
        request text,
        response text,
        constraint webhook_deliveries_kind_check check (kind in ('change', 'test', 'retry'))
      )`);
    await runner.query(
      'create index webhook_deliveries_created_at_idx on webhook_deliveries (webhook_id, created_at, delivery_id)',
    );
    await runner.query(
      'create index webhook_deliveries_requested_idx on webhook_deliveries (webhook_id) where attempted_at is null',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table webhook_deliveries');
    await runner.query('drop table webhooks');
  }
}
