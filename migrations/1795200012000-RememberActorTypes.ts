import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Stores the kind of an actor beside its id, and keeps the ids of purged users.
 * By the id alone, an imported user could inherit the operations, responses and permissions of an
 * API key (Z24).
 * The default serves instances of the previous version during a rolling upgrade. It fails closed:
 * an operation that such an instance opens for an API key finds no user with this id.
 */
export class RememberActorTypes1795200012000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(tombstones);
    await runner.query(actorTypes);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table idempotency_keys drop column actor_scope, drop column actor_type');
    await runner.query('alter table operations drop column actor_type');
    await runner.query('drop table user_tombstones');
  }
}

const tombstones = `
  create table user_tombstones (
    user_id uuid constraint user_tombstones_pkey primary key,
    purged_at timestamptz(3) not null default now()
  );
  insert into user_tombstones (user_id, purged_at)
    select target_id, max(occurred_at) from events
    where event_type = 'user.purged' and target_id is not null and target_id not in (select user_id from users)
    group by target_id;
`;

const actorTypes = `
  alter table operations add column actor_type text not null default 'user'
    constraint operations_actor_type_check check (actor_type in ('user', 'key'));
  update operations set actor_type = 'key' where session_id is null and actor_id in (select key_id from keys);
  alter table idempotency_keys add column actor_type text not null default 'user'
    constraint idempotency_keys_actor_type_check check (actor_type in ('user', 'key'));
  update idempotency_keys set actor_type = 'key' where user_id in (select key_id from keys);
  alter table idempotency_keys add column actor_scope text;
`;
