import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Stores the kind of an actor beside its id, and keeps the ids of purged users.
 * By the id alone, an imported user could inherit the operations, responses and permissions of an
 * API key (Z24).
 * Triggers serve instances of the previous version during a rolling upgrade, which know neither
 * tombstones nor kinds of actors.
 */
export class RememberActorTypes1795200012000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(tombstones);
    await runner.query(actorTypes);
    await runner.query(olderInstances);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop trigger users_tombstone on users');
    await runner.query('drop trigger operations_actor_type on operations');
    await runner.query('drop trigger idempotency_keys_actor_type on idempotency_keys');
    await runner.query('drop function users_tombstone(), operations_actor_type(), idempotency_keys_actor_type()');
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
    where event_type = 'user.purged' and target_id is not null
      and not exists (select from users where users.user_id = events.target_id)
    group by target_id;
`;

const actorTypes = `
  alter table operations add column actor_type text
    constraint operations_actor_type_check check (actor_type in ('user', 'key'));
  update operations set actor_type = 'key' where session_id is null and actor_id in (select key_id from keys);
  update operations set actor_type = 'user' where actor_type is null;
  alter table operations alter column actor_type set not null;
  alter table idempotency_keys add column actor_type text
    constraint idempotency_keys_actor_type_check check (actor_type in ('user', 'key'));
  update idempotency_keys set actor_type = case when user_id in (select key_id from keys) then 'key' else 'user' end;
  alter table idempotency_keys alter column actor_type set not null;
  alter table idempotency_keys add column actor_scope text;
`;

/**
 * A purge by an older version adds a tombstone too, and a missing type of an actor is looked up.
 */
const olderInstances = `
  create function users_tombstone() returns trigger language plpgsql as $$
  begin
    insert into user_tombstones (user_id) select user_id from purged on conflict do nothing;
    return null;
  end $$;
  create trigger users_tombstone after delete on users referencing old table as purged
    for each statement execute function users_tombstone();
  create function operations_actor_type() returns trigger language plpgsql as $$
  begin
    new.actor_type := case
      when new.session_id is null and exists (select from keys where key_id = new.actor_id) then 'key'
      else 'user' end;
    return new;
  end $$;
  create trigger operations_actor_type before insert on operations for each row
    when (new.actor_type is null) execute function operations_actor_type();
  create function idempotency_keys_actor_type() returns trigger language plpgsql as $$
  begin
    new.actor_type := case when exists (select from keys where key_id = new.user_id) then 'key' else 'user' end;
    return new;
  end $$;
  create trigger idempotency_keys_actor_type before insert on idempotency_keys for each row
    when (new.actor_type is null) execute function idempotency_keys_actor_type();
`;
