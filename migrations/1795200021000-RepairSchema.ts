import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Repairs databases of releases whose CreateSchema, AddNotifications, AddKeys or RememberActorTypes
 * differed from today's. Each of these migrations was changed once after its release.
 * In a database of today's migrations, it only replaces functions and triggers by equal ones.
 */
export class RepairSchema1795200021000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (await holds(runner, hasFirstUsers)) await runner.query(firstSchema);
    if (await holds(runner, lacksTombstoneTrigger)) await runner.query(actorTypes);
    // TypeORM had created this table for the generated column `search_text`.
    await runner.query('drop table if exists typeorm_metadata');
    for (const statements of [functions, notifications, olderInstances]) await runner.query(statements);
  }

  /** Does nothing: the earlier migrations drop these objects. */
  async down(): Promise<void> {}
}

async function holds(runner: QueryRunner, condition: string): Promise<boolean> {
  const [row] = (await runner.query(`select ${condition} as holds`)) as { holds: boolean }[];
  return row?.holds === true;
}

/** CreateSchema until 5559c24. The column is a part of no other version. */
const hasFirstUsers = `exists (
  select from pg_attribute
  where attrelid = 'users'::regclass and attname = 'search_text' and not attisdropped
)`;

/** Dropping the column drops its index too. */
const firstSchema = `
  alter table users drop column search_text;
  drop index if exists users_last_name_idx, users_last_login_at_idx, users_last_seen_at_idx, events_operation_id_idx;
  create index users_last_login_at_idx on users (last_login_at, user_id) where deleted_at is null;
  create index users_last_login_ip_idx on users (last_login_ip) where deleted_at is null;
  create index users_last_seen_at_idx on users (last_seen_at, user_id) where deleted_at is null;
  create index users_password_changed_at_idx on users (password_changed_at) where deleted_at is null;
  create index users_carrier_id_user_id_idx on users (carrier_id, user_id) where deleted_at is null;
  create index users_must_change_password_idx on users (created_at, user_id)
    where must_change_password and deleted_at is null;
  create index events_operation_id_idx on events (operation_id, target_id) where operation_id is not null;
  alter table credentials add constraint credentials_password_hash_check check (password_hash like '$%');
`;

/** RememberActorTypes until fb8690e. */
const lacksTombstoneTrigger = `to_regproc('users_tombstone') is null`;

/**
 * A trigger replaces the default of the actor types. Older instances purged users without leaving
 * tombstones.
 */
const actorTypes = `
  alter table operations alter column actor_type drop default;
  alter table idempotency_keys alter column actor_type drop default;
  insert into user_tombstones (user_id, purged_at)
    select target_id, max(occurred_at) from events
    where event_type = 'user.purged' and target_id is not null
      and not exists (select from users where users.user_id = events.target_id)
    group by target_id
    on conflict do nothing;
`;

/** Functions whose bodies were only wrapped differently before 893a62d. */
const functions = `
  create or replace function uuid_v7() returns uuid language sql volatile parallel safe as $$
    select encode(
      set_bit(set_bit(
        overlay(uuid_send(gen_random_uuid())
          placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
        52, 1), 53, 1), 'hex')::uuid
  $$;
  create or replace function search_text(value text) returns text language sql immutable parallel safe as $$
    select case
      when value ~ '[^[:alnum:] +.@_-]' then
        translate(lower(value),
          '!"#$%&''()*+,-./:;<=>?@[\\]^_\`{|}~',
          'ᚠᚡᚢᚣᚤᚥᚦᚧᚨᚩᚪᚫᚬᚭᚮᚯᚰᚱᚲᚳᚴᚵᚶᚷᚸᚹᚺᚻᚼᚽᚾᚿ')
      else translate(lower(value), '+-.@_', 'ᚪᚬᚭᚵᚺ')
    end
  $$;
  create or replace function search_others(phone text, carrier_id text, locale text, timezone text) returns text
  language sql immutable parallel safe as $$
    select ' ' || coalesce(search_text(phone), '') || ', ' || coalesce(search_text(carrier_id), '') || '; '
      || coalesce(search_text(locale), '') || ': ' || coalesce(search_text(timezone), '') || '.'
  $$;
`;

/** AddNotifications until 912cc6b, and AddKeys until 27f83f2. */
const notifications = `
  create or replace trigger user_changed after update on users for each row
    when ((old.version, old.status, old.deleted_at, old.must_change_password, old.email_pending,
        old.password_changed_at, old.roles, old.carrier_scope,
        old.user_type, old.carrier_id, old.name, old.email) is distinct from
      (new.version, new.status, new.deleted_at, new.must_change_password, new.email_pending,
        new.password_changed_at, new.roles, new.carrier_scope,
        new.user_type, new.carrier_id, new.name, new.email))
    execute function notify_old_user();
  create or replace trigger sessions_removed after truncate on sessions
    for each statement execute function notify_change('roles_changed');
  create or replace trigger key_changed after update on keys for each row
    when ((old.permissions, old.carrier_scope, old.expires_at, old.revoked_at)
      is distinct from (new.permissions, new.carrier_scope, new.expires_at, new.revoked_at))
    execute function notify_change('keys_changed');
  create or replace trigger keys_removed after delete on keys
    for each statement execute function notify_change('keys_changed');
`;

/** RememberActorTypes until fb8690e. Before 893a62d, one function was wrapped differently. */
const olderInstances = `
  create or replace function users_tombstone() returns trigger language plpgsql as $$
  begin
    insert into user_tombstones (user_id) select user_id from purged on conflict do nothing;
    return null;
  end $$;
  create or replace trigger users_tombstone after delete on users referencing old table as purged
    for each statement execute function users_tombstone();
  create or replace function operations_actor_type() returns trigger language plpgsql as $$
  begin
    new.actor_type := case
      when new.session_id is null and exists (select from keys where key_id = new.actor_id) then 'key'
      else 'user' end;
    return new;
  end $$;
  create or replace trigger operations_actor_type before insert on operations for each row
    when (new.actor_type is null) execute function operations_actor_type();
  create or replace function idempotency_keys_actor_type() returns trigger language plpgsql as $$
  begin
    new.actor_type := case when exists (select from keys where key_id = new.user_id) then 'key' else 'user' end;
    return new;
  end $$;
  create or replace trigger idempotency_keys_actor_type before insert on idempotency_keys for each row
    when (new.actor_type is null) execute function idempotency_keys_actor_type();
`;
