import type { MigrationInterface, QueryRunner } from 'typeorm';

const tables = 'events, signing_keys, sessions, one_time_tokens, credentials, user_search, users, roles';
const functionNames =
  'uuid_v7(), jsonb_merge_patch(jsonb, jsonb), events_append_only(), user_search_add(), user_search_change(), ' +
  'search_names(text, text, text, text), search_others(text, text, text, text), search_text(text)';

/** Creates the first schema. The service maps the names of constraints to error codes. */
export class CreateSchema1795200000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create extension if not exists pg_trgm');
    for (const statements of [functions, roles, users, userIndexes, userSearch]) await runner.query(statements);
    for (const statements of [credentials, sessions, signingKeys, events]) await runner.query(statements);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table ${tables}`);
    await runner.query(`drop function ${functionNames}`);
  }
}

const functions = `
  create function uuid_v7() returns uuid language sql volatile parallel safe as $$
    select encode(
      set_bit(set_bit(
        overlay(uuid_send(gen_random_uuid())
          placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
        52, 1), 53, 1), 'hex')::uuid
  $$;
  create function jsonb_merge_patch(target jsonb, patch jsonb) returns jsonb
  language plpgsql immutable parallel safe as $$
  begin
    if jsonb_typeof(patch) <> 'object' then return patch; end if;
    return coalesce((
      select jsonb_object_agg(key, case
        when p.value is null then t.value
        when jsonb_typeof(p.value) = 'object' then jsonb_merge_patch(t.value, p.value)
        else p.value end)
      from jsonb_each(case when jsonb_typeof(target) = 'object' then target else '{}' end) t(key, value)
      full join jsonb_each(patch) p(key, value) using (key)
      where p.value is distinct from 'null'::jsonb
    ), '{}');
  end $$;
`;

const roles = `
  create table roles (
    name text constraint roles_pkey primary key,
    description text not null default '',
    user_types text[] not null,
    permissions text[] not null,
    may_grant text[] not null default '{}',
    built_in boolean not null default false
  );
  insert into roles (name, description, user_types, permissions, may_grant, built_in) values
    ('administrator', 'Everything', '{system}', '{*}', '{}', true),
    ('operator', 'Users and sessions, without purge', '{system}',
      '{user:read,user:create,user:update,user:delete,user:import,user:export,session:read,session:revoke,role:read}',
      '{carrier_administrator,carrier_user}', true),
    ('auditor', 'Reads everything', '{system}', '{user:read,session:read,role:read,audit:read}', '{}', true),
    ('carrier_administrator', 'Users and sessions of their carrier', '{carrier}',
      '{user:read,user:create,user:update,user:delete,session:read,session:revoke,role:read}',
      '{carrier_administrator,carrier_user}', true),
    ('carrier_user', 'Uses the services', '{carrier}', '{}', '{}', true);
`;

const users = `
  create table users (
    user_id uuid constraint users_pkey primary key,
    user_type text not null constraint users_user_type_check check (user_type in ('system', 'carrier')),
    name text not null,
    email text not null,
    email_pending text,
    email_verified_at timestamptz(3),
    first_name text not null default '',
    last_name text not null default '',
    phone text,
    locale text,
    timezone text,
    carrier_id text,
    carrier_scope text[],
    roles text[] not null default '{}',
    status text not null constraint users_status_check check (status in ('invited', 'active', 'disabled')),
    allowed_ips cidr[] not null default '{}',
    attributes jsonb not null default '{}'
      constraint users_attributes_check check (octet_length(attributes::text) <= 32768),
    must_change_password boolean not null default false,
    created_at timestamptz(3) not null default now(),
    created_by uuid,
    updated_at timestamptz(3) not null default now(),
    last_login_at timestamptz(3),
    last_login_ip inet,
    last_seen_at timestamptz(3),
    password_changed_at timestamptz(3),
    locked_until timestamptz(3),
    deleted_at timestamptz(3),
    version integer not null default 1,
    constraint users_carrier_check check (
      (user_type = 'carrier') = (carrier_id is not null) and (user_type = 'system' or carrier_scope is null)
    )
  );
`;

/**
 * Indexes for lists, which leave out deleted users. Columns that bulk changes do not write are
 * indexed in `user_search` where possible (ADR 0007).
 */
const userIndexes = `
  create unique index users_name_key on users (lower(name)) where deleted_at is null;
  create unique index users_email_key on users (lower(email)) where deleted_at is null;
  create index users_created_at_idx on users (created_at, user_id) where deleted_at is null;
  create index users_updated_at_idx on users (updated_at, user_id) where deleted_at is null;
  create index users_last_login_at_idx on users (last_login_at, user_id) where deleted_at is null;
  create index users_last_login_ip_idx on users (last_login_ip) where deleted_at is null;
  create index users_last_seen_at_idx on users (last_seen_at, user_id) where deleted_at is null;
  create index users_password_changed_at_idx on users (password_changed_at) where deleted_at is null;
  create index users_status_idx on users (status, user_id) where deleted_at is null;
  create index users_carrier_id_idx on users (carrier_id, created_at, user_id) where deleted_at is null;
  create index users_carrier_id_user_id_idx on users (carrier_id, user_id) where deleted_at is null;
  create index users_must_change_password_idx on users (created_at, user_id)
    where must_change_password and deleted_at is null;
  create index users_roles_idx on users using gin (roles) where deleted_at is null;
  create index users_attributes_idx on users using gin (attributes jsonb_path_ops) where deleted_at is null;
  create index users_deleted_at_idx on users (created_at, user_id) where deleted_at is not null;
`;

/**
 * Searchable columns that bulk changes do not write, with their indexes. Triggers copy them: one
 * statement per insert, and one per row whose copied columns change. Each part of `names` and
 * `others` ends with its own separator, so that a pattern can select a part. Other punctuation is
 * replaced by runes: trigrams contain letters only, and a pattern without letters would read the
 * whole index. The case expression makes the replacement three times as fast.
 */
const userSearch = `
  create function search_text(value text) returns text language sql immutable parallel safe as $$
    select case
      when value ~ '[^[:alnum:] +.@_-]' then
        translate(lower(value),
          '!"#$%&''()*+,-./:;<=>?@[\\]^_\`{|}~',
          'ᚠᚡᚢᚣᚤᚥᚦᚧᚨᚩᚪᚫᚬᚭᚮᚯᚰᚱᚲᚳᚴᚵᚶᚷᚸᚹᚺᚻᚼᚽᚾᚿ')
      else translate(lower(value), '+-.@_', 'ᚪᚬᚭᚵᚺ')
    end
  $$;
  create function search_names(name text, email text, first_name text, last_name text) returns text
  language sql immutable parallel safe as $$
    select ' ' || search_text(name) || ', ' || search_text(email) || '; ' || search_text(first_name) || ': '
      || search_text(last_name) || '.'
  $$;
  create function search_others(phone text, carrier_id text, locale text, timezone text) returns text
  language sql immutable parallel safe as $$
    select ' ' || coalesce(search_text(phone), '') || ', ' || coalesce(search_text(carrier_id), '') || '; '
      || coalesce(search_text(locale), '') || ': ' || coalesce(search_text(timezone), '') || '.'
  $$;
  create table user_search (
    user_id uuid constraint user_search_pkey primary key
      constraint user_search_user_id_fkey references users (user_id) on delete cascade,
    first_name text not null,
    last_name text not null,
    phone text,
    locale text,
    timezone text,
    names text not null,
    others text not null
  );
  create index user_search_first_name_idx on user_search (first_name);
  create index user_search_last_name_idx on user_search (last_name);
  create index user_search_lower_last_name_idx on user_search (lower(last_name), user_id);
  create index user_search_phone_idx on user_search (phone);
  create index user_search_locale_idx on user_search (locale);
  create index user_search_timezone_idx on user_search (timezone);
  create index user_search_trigrams_idx on user_search using gin (names gin_trgm_ops, others gin_trgm_ops);
  create function user_search_add() returns trigger language plpgsql as $$
  begin
    insert into user_search (user_id, first_name, last_name, phone, locale, timezone, names, others)
      select user_id, first_name, last_name, phone, locale, timezone,
        search_names(name, email, first_name, last_name), search_others(phone, carrier_id, locale, timezone)
      from added;
    return null;
  end $$;
  create function user_search_change() returns trigger language plpgsql as $$
  begin
    update user_search set first_name = new.first_name, last_name = new.last_name, phone = new.phone,
      locale = new.locale, timezone = new.timezone,
      names = search_names(new.name, new.email, new.first_name, new.last_name),
      others = search_others(new.phone, new.carrier_id, new.locale, new.timezone)
      where user_id = new.user_id;
    return null;
  end $$;
  create trigger user_search_add after insert on users referencing new table as added
    for each statement execute function user_search_add();
  create trigger user_search_change
    after update of name, email, first_name, last_name, phone, locale, timezone, carrier_id on users for each row
    when ((old.name, old.email, old.first_name, old.last_name, old.phone, old.locale, old.timezone, old.carrier_id)
      is distinct from
      (new.name, new.email, new.first_name, new.last_name, new.phone, new.locale, new.timezone, new.carrier_id))
    execute function user_search_change();
`;

const credentials = `
  create table credentials (
    user_id uuid constraint credentials_pkey primary key
      constraint credentials_user_id_fkey references users (user_id) on delete cascade,
    password_hash text not null constraint credentials_password_hash_check check (password_hash like '$%'),
    expires_at timestamptz(3)
  );
  create table one_time_tokens (
    user_id uuid not null constraint one_time_tokens_user_id_fkey references users (user_id) on delete cascade,
    purpose text not null constraint one_time_tokens_purpose_check check (purpose in ('reset', 'invite', 'email')),
    token_hash bytea,
    email text,
    requested_at timestamptz(3) not null,
    expires_at timestamptz(3),
    constraint one_time_tokens_pkey primary key (user_id, purpose)
  );
  create unique index one_time_tokens_token_hash_key on one_time_tokens (token_hash);
`;

const sessions = `
  create table sessions (
    session_id uuid constraint sessions_pkey primary key,
    user_id uuid not null constraint sessions_user_id_fkey references users (user_id) on delete cascade,
    user_type text not null,
    carrier_id text,
    refresh_token_hash bytea not null,
    previous_refresh_token_hash bytea,
    refreshed_at timestamptz(3) not null,
    created_at timestamptz(3) not null default now(),
    last_seen_at timestamptz(3) not null default now(),
    expires_at timestamptz(3) not null,
    absolute_expires_at timestamptz(3) not null,
    ip inet,
    user_agent text,
    ended_at timestamptz(3),
    ended_reason text constraint sessions_ended_reason_check check (ended_reason in
      ('logout', 'revoked', 'expired', 'replaced', 'token_reuse', 'password_changed', 'ip_not_allowed',
        'user_disabled', 'user_deleted')),
    ended_by uuid
  );
  create index sessions_user_id_created_at_idx on sessions (user_id, created_at);
  create index sessions_carrier_id_created_at_idx on sessions (carrier_id, created_at);
  create index sessions_created_at_idx on sessions (created_at, session_id);
  create index sessions_last_seen_at_idx on sessions (last_seen_at, session_id);
  create index sessions_live_user_id_idx on sessions (user_id) where ended_at is null;
`;

const signingKeys = `
  create table signing_keys (
    kid text constraint signing_keys_pkey primary key,
    public_jwk jsonb not null,
    private_key bytea not null,
    created_at timestamptz(3) not null default now()
  );
`;

/** A trigger keeps the log append-only, except for the erasure of the values of purged users. */
const events = `
  create table events (
    event_id uuid not null default uuid_v7() constraint events_pkey primary key,
    event_type text not null,
    occurred_at timestamptz(3) not null default now(),
    actor_id uuid,
    actor_type text not null constraint events_actor_type_check check (actor_type in ('user', 'key', 'system')),
    target_type text,
    target_id uuid,
    carrier_id text,
    operation_id uuid,
    session_id uuid,
    ip inet,
    request_id text,
    changes jsonb not null default '{}'
  );
  create index events_occurred_at_idx on events (occurred_at, event_id);
  create index events_target_id_idx on events (target_id, occurred_at);
  create index events_actor_id_idx on events (actor_id, occurred_at);
  create index events_carrier_id_idx on events (carrier_id, occurred_at);
  create index events_operation_id_idx on events (operation_id, target_id) where operation_id is not null;
  create function events_append_only() returns trigger language plpgsql as $$
  begin
    if current_setting('carrier_identity.erasing', true) = 'on' then return coalesce(new, old); end if;
    raise exception 'events are append-only';
  end $$;
  create trigger events_append_only before update or delete on events
    for each row execute function events_append_only();
`;
