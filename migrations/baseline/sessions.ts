/**
 * Free space on the pages, and few indexes: activity and refreshes update sessions in place.
 * `session_search` has the columns that never change, for filters and sorts (ADR 0012).
 */
export const sessions = `
  create table sessions (
    session_id uuid not null,
    user_id uuid not null,
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
    ended_reason text,
    ended_by uuid,
    amr text[] not null default '{pwd}',
    auth_time timestamptz(3),
    constraint sessions_ended_reason_check check (
      ended_reason in (
        'logout', 'revoked', 'expired', 'replaced', 'token_reuse', 'password_changed', 'ip_not_allowed',
          'user_disabled', 'user_deleted', 'factors_changed'
      )
    ),
    constraint sessions_pkey primary key (session_id),
    constraint sessions_user_id_fkey foreign key (user_id) references users (user_id) on delete cascade
  ) with (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000, fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
  create index sessions_ended_reason_idx on sessions (ended_reason, created_at) where ended_reason is not null;
  create index sessions_expires_at_idx on sessions (expires_at, session_id);
  create index sessions_last_seen_at_idx on sessions (last_seen_at, session_id);
  create index sessions_user_id_idx on sessions (user_id, ended_at, expires_at);
  create table session_search (
    session_id uuid not null,
    user_id uuid not null,
    carrier_id text,
    created_at timestamptz(3) not null,
    ip inet,
    user_agent text,
    mfa boolean not null default false,
    constraint session_search_pkey primary key (session_id),
    constraint session_search_session_id_fkey foreign key (session_id) references sessions (session_id) on
      delete cascade
  ) with (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);
  create index session_search_carrier_id_created_at_idx on session_search (carrier_id, created_at);
  create index session_search_created_at_idx on session_search (created_at, session_id);
  create index session_search_ip_idx on session_search (ip);
  create index session_search_mfa_idx on session_search (created_at, session_id) where mfa;
  create index session_search_user_agent_idx on session_search (user_agent);
  create index session_search_user_id_created_at_idx on session_search (user_id, created_at);
  create function session_search_add() returns trigger language plpgsql as $$
    begin
      insert into session_search (session_id, user_id, carrier_id, created_at, ip, user_agent, mfa)
        select session_id, user_id, carrier_id, created_at, ip, user_agent, amr @> '{mfa}' from added;
      return null;
    end $$;
  create function session_search_mfa() returns trigger language plpgsql as $$
      begin
        update session_search set mfa = new.amr @> '{mfa}' where session_id = new.session_id;
        return null;
      end $$;
`;

/** Instances of a release without second factors must not log users in with the password alone. */
export const guard = `
  create function require_second_factor() returns trigger language plpgsql as $$
      begin
        if exists (select from users where user_id = new.user_id and second_factors <> '{}') then
          raise exception 'the user has a second factor, and the session was opened without it';
        end if;
        return new;
      end
      $$;
  create trigger session_ended after update on sessions for each row
    when (
      old.ended_at is null and new.ended_at is not null
      or new.expires_at < old.expires_at
      or new.absolute_expires_at < old.absolute_expires_at
    )
    execute function notify_old_user();
  create trigger session_needs_second_factor before insert on sessions for each row
    when (not (new.amr @> '{mfa}'))
    execute function require_second_factor();
  create trigger session_reauthenticated after update of amr, auth_time on sessions for each row
    when ((old.amr, old.auth_time) is distinct from (new.amr, new.auth_time))
    execute function notify_old_user();
  create trigger session_removed after delete on sessions for each row
    when (old.ended_at is null)
    execute function notify_old_user();
  create trigger session_search_add after insert on sessions referencing new table as added for each statement
    execute function session_search_add();
  create trigger session_search_mfa after update of amr on sessions for each row
    when ((old.amr @> '{mfa}') <> (new.amr @> '{mfa}'))
    execute function session_search_mfa();
  create trigger sessions_removed after truncate on sessions for each statement
    execute function notify_change('roles_changed');
`;

/** API keys, signing keys and one-time links to exports. Only hashes of secrets are stored. */
export const keys = `
  create table keys (
    key_id uuid not null,
    name text not null,
    token_hash bytea not null,
    permissions text[] not null,
    user_type text not null,
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
    ),
    constraint keys_user_type_check check (user_type in ('system', 'carrier')),
    constraint keys_pkey primary key (key_id)
  );
  create index keys_created_at_idx on keys (created_at, key_id);
  create unique index keys_token_hash_key on keys (token_hash);
  create trigger key_changed after update on keys for each row
    when ((old.permissions, old.carrier_scope, old.expires_at, old.revoked_at)
      is distinct from (new.permissions, new.carrier_scope, new.expires_at, new.revoked_at))
    execute function notify_change('keys_changed');
  create trigger keys_removed after delete on keys for each statement
    execute function notify_change('keys_changed');
  create table signing_keys (
    kid text not null,
    public_jwk jsonb not null,
    private_key bytea not null,
    created_at timestamptz(3) not null default now(),
    signs_from timestamptz(3) not null default now(),
    constraint signing_keys_pkey primary key (kid)
  );
  create trigger signing_keys_changed after insert or delete or update on signing_keys for each statement
    execute function notify_change('signing_keys_changed');
  create table export_links (
    session_id uuid not null,
    token_hash bytea not null,
    query jsonb not null,
    expires_at timestamptz(3) not null,
    constraint export_links_pkey primary key (session_id),
    constraint export_links_session_id_fkey foreign key (session_id) references sessions (session_id) on delete
      cascade
  );
  create unique index export_links_token_hash_key on export_links (token_hash);
`;
