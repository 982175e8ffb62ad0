import type { MigrationInterface, QueryRunner } from 'typeorm';

const tables = ['events', 'signing_keys', 'sessions', 'one_time_tokens', 'credentials', 'users', 'roles'];

/** The first schema. Names of constraints are part of the code: they decide which error a violation becomes. */
export class CreateSchema1795200000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create extension if not exists pg_trgm');
    await runner.query(functions);
    await runner.query(roles);
    await runner.query(users);
    await runner.query(userIndexes);
    await runner.query(credentials);
    await runner.query(sessions);
    await runner.query(signingKeys);
    await runner.query(events);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`drop table ${tables.join(', ')}`);
    await runner.query('drop function uuid_v7(), jsonb_merge_patch(jsonb, jsonb), events_append_only()');
  }
}

const functions = `
  create function uuid_v7() returns uuid language sql volatile parallel safe as $$
    select encode(
      set_bit(set_bit(
        overlay(uuid_send(gen_random_uuid()) placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
        52, 1), 53, 1), 'hex')::uuid
  $$;
  create function jsonb_merge_patch(target jsonb, patch jsonb) returns jsonb language plpgsql immutable parallel safe as $$
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
      '{user:read,user:create,user:update,user:delete,user:import,user:export,session:read,session:revoke,role:read}', '{carrier_administrator,carrier_user}', true),
    ('auditor', 'Reads everything', '{system}', '{user:read,session:read,role:read,audit:read}', '{}', true),
    ('carrier_administrator', 'Users and sessions of their carrier', '{carrier}',
      '{user:read,user:create,user:update,user:delete,session:read,session:revoke,role:read}', '{carrier_administrator,carrier_user}', true),
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
    attributes jsonb not null default '{}' constraint users_attributes_check check (octet_length(attributes::text) <= 32768),
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
    search_text text generated always as (lower(' ' || name || ' ' || email || ' ' || first_name || ' ' || last_name)) stored,
    constraint users_carrier_check check ((user_type = 'carrier') = (carrier_id is not null) and (user_type = 'system' or carrier_scope is null))
  );
`;

/** Lists show the living: their indexes leave the deleted out. */
const userIndexes = `
  create unique index users_name_key on users (lower(name)) where deleted_at is null;
  create unique index users_email_key on users (lower(email)) where deleted_at is null;
  create index users_created_at_idx on users (created_at, user_id) where deleted_at is null;
  create index users_updated_at_idx on users (updated_at, user_id) where deleted_at is null;
  create index users_last_name_idx on users (lower(last_name), user_id) where deleted_at is null;
  create index users_last_login_at_idx on users (last_login_at desc nulls last, user_id desc) where deleted_at is null;
  create index users_last_seen_at_idx on users (last_seen_at desc nulls last, user_id desc) where deleted_at is null;
  create index users_status_idx on users (status, user_id) where deleted_at is null;
  create index users_carrier_id_idx on users (carrier_id, created_at, user_id) where deleted_at is null;
  create index users_roles_idx on users using gin (roles) where deleted_at is null;
  create index users_attributes_idx on users using gin (attributes jsonb_path_ops) where deleted_at is null;
  create index users_search_idx on users using gin (search_text gin_trgm_ops, phone gin_trgm_ops, carrier_id gin_trgm_ops) where deleted_at is null;
  create index users_deleted_at_idx on users (created_at, user_id) where deleted_at is not null;
`;

const credentials = `
  create table credentials (
    user_id uuid constraint credentials_pkey primary key constraint credentials_user_id_fkey references users (user_id) on delete cascade,
    password_hash text not null,
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
      ('logout', 'revoked', 'expired', 'replaced', 'token_reuse', 'password_changed', 'ip_not_allowed', 'user_disabled', 'user_deleted')),
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

/** The trigger keeps the log append-only; only the erasure of a purged person's values may pass it. */
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
  create index events_operation_id_idx on events (operation_id) where operation_id is not null;
  create function events_append_only() returns trigger language plpgsql as $$
  begin
    if current_setting('carrier_identity.erasing', true) = 'on' then return coalesce(new, old); end if;
    raise exception 'events are append-only';
  end $$;
  create trigger events_append_only before update or delete on events for each row execute function events_append_only();
`;
