import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds operations: background work on many users, with its progress and its remaining batches. */
export class AddOperations1795200001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(operations);
    await runner.query(batches);
    await runner.query('alter table events add column target_version integer');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table operation_batches, operations');
    await runner.query('alter table events drop column target_version');
  }
}

const operations = `
  create table operations (
    operation_id uuid constraint operations_pkey primary key,
    kind text not null constraint operations_kind_check check (kind in ('change', 'delete', 'undo', 'import')),
    permission text not null,
    status text not null constraint operations_status_check
      check (status in ('receiving', 'waiting', 'running', 'done', 'canceled', 'failed')),
    actor_id uuid not null,
    session_id uuid,
    ip inet,
    request_id text,
    request jsonb not null,
    total integer not null default 0,
    processed integer not null default 0,
    changed integer not null default 0,
    unchanged integer not null default 0,
    skipped_count integer not null default 0,
    skipped_reasons jsonb not null default '{}',
    skipped jsonb not null default '[]',
    error_code text,
    confirm_id uuid constraint operations_confirm_id_key unique,
    undo_of uuid,
    undone_by uuid,
    created_at timestamptz(3) not null default now(),
    started_at timestamptz(3),
    progressed_at timestamptz(3) not null default now(),
    finished_at timestamptz(3),
    undo_until timestamptz(3)
  );
  create index operations_created_at_idx on operations (created_at, operation_id);
  create index operations_actor_id_idx on operations (actor_id, created_at);
  create index operations_unfinished_idx on operations (operation_id) where finished_at is null;
`;

/**
 * Remaining work: a finished batch is deleted. Batches, and the ids in a batch, are sorted by id.
 */
const batches = `
  create table operation_batches (
    operation_id uuid not null
      constraint operation_batches_operation_id_fkey references operations (operation_id) on delete cascade,
    number integer not null,
    user_ids uuid[],
    rows jsonb,
    constraint operation_batches_pkey primary key (operation_id, number)
  );
`;
