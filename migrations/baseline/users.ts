/** The names are part of paths, and unique ignoring case. */
export const roles = `
  create table roles (
    name text not null,
    description text not null default '',
    user_types text[] not null,
    permissions text[] not null,
    may_grant text[] not null default '{}',
    built_in boolean not null default false,
    second_factor_required_from timestamptz(3),
    constraint roles_name_check check (name ~ '^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$'),
    constraint roles_pkey primary key (name)
  );
  create unique index roles_name_key on roles (lower(name));
  insert into roles (name, description, user_types, permissions, may_grant, built_in)
  values
    ('administrator', 'Everything', '{system}', '{*}', '{}', true),
    ('operator', 'Users and sessions, without purge', '{system}',
      '{user:read,user:create,user:update,user:delete,user:import,user:export,session:read,session:revoke,role:read,
user:reset_factors}',
      '{carrier_administrator,carrier_user}', true),
    ('auditor', 'Reads everything', '{system}', '{user:read,session:read,role:read,audit:read}', '{}', true),
    ('carrier_administrator', 'Users and sessions of their carrier', '{carrier}',
      '{user:read,user:create,user:update,user:delete,session:read,session:revoke,role:read,user:reset_factors}',
      '{carrier_administrator,carrier_user}', true),
    ('carrier_user', 'Uses the services', '{carrier}', '{}', '{}', true);
  create trigger roles_changed after insert or delete or update or truncate on roles for each statement
    execute function notify_change('roles_changed');
`;

/**
 * Columns that bulk changes do not write are indexed in `user_search` where possible (ADR 0007).
 * The predicate of each unique index contains an impossible timestamp, a different one per index.
 * While stale statistics count almost no undeleted users, all partial indexes have the same cost
 * for the planner. A query with the same impossible condition can use only the index that contains
 * it. Of two conflicts, PostgreSQL reports that of the older index, the name.
 * Autovacuum analyzes after 2,000 changes for the same reason.
 */
export const users = `
  create table users (
    user_id uuid not null,
    user_type text not null,
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
    status text not null,
    allowed_ips cidr[] not null default '{}',
    attributes jsonb not null default '{}',
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
    job_title text,
    second_factors text[] not null default '{}',
    second_factor_required_from timestamptz(3),
    constraint users_attributes_check check (octet_length(attributes::text) <= 32768),
    constraint users_carrier_check check (
      (user_type = 'carrier') = (carrier_id is not null) and (user_type = 'system' or carrier_scope is null)
    ),
    constraint users_status_check check (status in ('invited', 'active', 'disabled')),
    constraint users_user_type_check check (user_type in ('system', 'carrier')),
    constraint users_pkey primary key (user_id)
  ) with (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);
  create index users_attributes_idx on users using gin (attributes jsonb_path_ops) where deleted_at is null;
  create index users_carrier_id_idx on users (carrier_id, created_at, user_id) where deleted_at is null;
  create index users_carrier_id_user_id_idx on users (carrier_id, user_id) where deleted_at is null;
  create index users_created_at_idx on users (created_at, user_id) where deleted_at is null;
  create index users_deleted_at_idx on users (created_at, user_id) where deleted_at is not null;
  create unique index users_name_key on users (lower(name))
    where deleted_at is null or deleted_at > 'infinity'::timestamptz;
  create unique index users_email_key on users (lower(email))
    where deleted_at is null or deleted_at < '-infinity'::timestamptz;
  create index users_locked_until_idx on users (locked_until)
    where locked_until is not null and deleted_at is null;
  create index users_must_change_password_idx on users (created_at, user_id)
    where must_change_password and deleted_at is null;
  create index users_password_changed_at_idx on users (password_changed_at) where deleted_at is null;
  create index users_purge_idx on users (deleted_at, user_id) where deleted_at is not null;
  create index users_roles_idx on users using gin (roles) where deleted_at is null;
  create index users_second_factor_required_from_idx on users (second_factor_required_from)
    where second_factor_required_from is not null and deleted_at is null;
  create index users_second_factors_idx on users (user_id) where second_factors <> '{}';
  create index users_status_idx on users (status, user_id) where deleted_at is null;
  create index users_updated_at_idx on users (updated_at, user_id) where deleted_at is null;
`;

/**
 * Searchable columns that bulk changes do not write, with their indexes. Triggers copy them: one
 * statement per insert, and one per row whose copied columns change. Each part of `names` and
 * `others` ends with its own separator, so that a pattern can select a part. Other punctuation is
 * replaced by runes: trigrams contain letters only, and a pattern without letters would read the
 * whole index. The case expression makes the replacement three times as fast.
 */
export const search = `
  create function search_text(value text) returns text language sql immutable parallel safe as $$
    select case
      when value ~ '[^[:alnum:] +.@_-]' then
        translate(lower(value),
          '!"#$%&''()*+,-./:;<=>?@[\\]^_\`{|}~',
          'ᚠᚡᚢᚣᚤᚥᚦᚧᚨᚩᚪᚫᚬᚭᚮᚯᚰᚱᚲᚳᚴᚵᚶᚷᚸᚹᚺᚻᚼᚽᚾᚿ')
      else translate(lower(value), '+-.@_', 'ᚪᚬᚭᚵᚺ')
    end
  $$;
  create function search_names(name text, email text, first_name text, last_name text, job_title text) returns text
  language sql immutable parallel safe as $$
    select ' ' || search_text(name) || ', ' || search_text(email) || '; ' || search_text(first_name) || ': '
      || search_text(last_name) || '.' || coalesce(' ' || search_text(job_title) || '!', '')
  $$;
  create function search_others(phone text, carrier_id text, locale text, timezone text) returns text
  language sql immutable parallel safe as $$
    select ' ' || coalesce(search_text(phone), '') || ', ' || coalesce(search_text(carrier_id), '') || '; '
      || coalesce(search_text(locale), '') || ': ' || coalesce(search_text(timezone), '') || '.'
  $$;
  create table user_search (
    user_id uuid not null,
    first_name text not null,
    last_name text not null,
    phone text,
    locale text,
    timezone text,
    names text not null,
    others text not null,
    job_title text,
    constraint user_search_pkey primary key (user_id),
    constraint user_search_user_id_fkey foreign key (user_id) references users (user_id) on delete cascade
  );
  create index user_search_first_name_idx on user_search (first_name);
  create index user_search_job_title_idx on user_search (job_title);
  create index user_search_last_name_idx on user_search (last_name);
  create index user_search_locale_idx on user_search (locale);
  create index user_search_lower_last_name_idx on user_search (lower(last_name), user_id);
  create index user_search_phone_idx on user_search (phone);
  create index user_search_timezone_idx on user_search (timezone);
  create index user_search_trigrams_idx on user_search using gin (names gin_trgm_ops, others gin_trgm_ops);
  create function user_search_add() returns trigger language plpgsql as $$
  begin
    insert into user_search (user_id, first_name, last_name, phone, job_title, locale, timezone, names, others)
      select user_id, first_name, last_name, phone, job_title, locale, timezone,
        search_names(name, email, first_name, last_name, job_title),
        search_others(phone, carrier_id, locale, timezone)
      from added;
    return null;
  end $$;
  create function user_search_change() returns trigger language plpgsql as $$
  begin
    update user_search
      set first_name = new.first_name, last_name = new.last_name, phone = new.phone, job_title = new.job_title,
        locale = new.locale, timezone = new.timezone,
        names = search_names(new.name, new.email, new.first_name, new.last_name, new.job_title),
        others = search_others(new.phone, new.carrier_id, new.locale, new.timezone)
      where user_id = new.user_id;
    return null;
  end $$;
`;

/**
 * Activity in narrow tables, so that a note adds no entry to the indexes of `users` (ADR 0012). The
 * `copy` triggers serve instances of the releases before these tables.
 */
export const activity = `
  create table user_logins (
    user_id uuid not null,
    last_login_at timestamptz(3),
    last_login_ip inet,
    constraint user_logins_pkey primary key (user_id),
    constraint user_logins_user_id_fkey foreign key (user_id) references users (user_id) on delete cascade
  ) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 2000);
  create index user_logins_last_login_at_idx on user_logins (last_login_at, user_id);
  create index user_logins_last_login_ip_idx on user_logins (last_login_ip);
  create table user_seen (
    user_id uuid not null,
    last_seen_at timestamptz(3),
    constraint user_seen_pkey primary key (user_id),
    constraint user_seen_user_id_fkey foreign key (user_id) references users (user_id) on delete cascade
  ) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 2000);
  create index user_seen_last_seen_at_idx on user_seen (last_seen_at, user_id);
  create function user_activity_add() returns trigger language plpgsql as $$
  begin
    insert into user_logins (user_id, last_login_at, last_login_ip)
      select user_id, last_login_at, last_login_ip from added
      on conflict do nothing;
    insert into user_seen (user_id, last_seen_at)
      select user_id, last_seen_at from added
      on conflict do nothing;
    return null;
  end $$;
  create function user_logins_copy() returns trigger language plpgsql as $$
  begin
    insert into user_logins (user_id, last_login_at, last_login_ip)
      values (new.user_id, new.last_login_at, new.last_login_ip)
      on conflict (user_id) do update
      set last_login_at = excluded.last_login_at, last_login_ip = excluded.last_login_ip
      where user_logins.last_login_at is null or user_logins.last_login_at <= excluded.last_login_at;
    return null;
  end $$;
  create function user_seen_copy() returns trigger language plpgsql as $$
  begin
    insert into user_seen (user_id, last_seen_at) values (new.user_id, new.last_seen_at)
      on conflict (user_id) do update
      set last_seen_at = excluded.last_seen_at
      where user_seen.last_seen_at is null or user_seen.last_seen_at < excluded.last_seen_at;
    return null;
  end $$;
`;

/** Ids of purged users, which no import may use again. */
export const purged = `
  create table user_tombstones (
    user_id uuid not null,
    purged_at timestamptz(3) not null default now(),
    constraint user_tombstones_pkey primary key (user_id)
  );
  create function users_tombstone() returns trigger language plpgsql as $$
  begin
    insert into user_tombstones (user_id) select user_id from purged on conflict do nothing;
    return null;
  end $$;
`;

/**
 * Triggers notify all instances at commit (ADR 0010) of every change that a response shows or that
 * decides about rights, including statements typed by hand.
 */
export const changes = `
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
  create trigger user_activity_add after insert on users referencing new table as added for each statement
    execute function user_activity_add();
  create trigger user_changed after update on users for each row
    when ((
      old.version, old.status, old.deleted_at, old.must_change_password, old.email_pending,
      old.password_changed_at, old.roles, old.carrier_scope, old.user_type, old.carrier_id, old.name,
      old.email, old.user_id, old.email_verified_at, old.first_name, old.last_name, old.phone, old.job_title,
      old.locale, old.timezone, old.allowed_ips, old.attributes, old.created_at, old.created_by,
      old.updated_at, old.second_factors, old.second_factor_required_from
    ) is distinct from (
      new.version, new.status, new.deleted_at, new.must_change_password, new.email_pending,
      new.password_changed_at, new.roles, new.carrier_scope, new.user_type, new.carrier_id, new.name,
      new.email, new.user_id, new.email_verified_at, new.first_name, new.last_name, new.phone, new.job_title,
      new.locale, new.timezone, new.allowed_ips, new.attributes, new.created_at, new.created_by,
      new.updated_at, new.second_factors, new.second_factor_required_from
    ))
    execute function notify_old_user();
  create trigger user_logins_copy after update of last_login_at, last_login_ip on users for each row
    when ((old.last_login_at, old.last_login_ip) is distinct from (new.last_login_at, new.last_login_ip))
    execute function user_logins_copy();
  create trigger user_removed after delete on users for each row execute function notify_old_user();
  create trigger user_search_add after insert on users referencing new table as added for each statement
    execute function user_search_add();
  create trigger user_search_change
    after update of name, email, first_name, last_name, phone, job_title, locale, timezone, carrier_id on users
    for each row
    when ((
      old.name, old.email, old.first_name, old.last_name, old.phone, old.job_title, old.locale, old.timezone,
      old.carrier_id
    ) is distinct from (
      new.name, new.email, new.first_name, new.last_name, new.phone, new.job_title, new.locale, new.timezone,
      new.carrier_id
    ))
    execute function user_search_change();
  create trigger user_seen_copy after update of last_seen_at on users for each row
    when (old.last_seen_at is distinct from new.last_seen_at)
    execute function user_seen_copy();
  create trigger users_tombstone after delete on users referencing old table as purged for each statement
    execute function users_tombstone();
`;
