/** A finished batch is deleted. Batches, and the ids in a batch, are sorted by id. */
export const operations = `
  create table operations (
    operation_id uuid not null,
    kind text not null,
    permission text not null,
    status text not null,
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
    confirm_id uuid,
    undo_of uuid,
    undone_by uuid,
    created_at timestamptz(3) not null default now(),
    started_at timestamptz(3),
    progressed_at timestamptz(3) not null default now(),
    finished_at timestamptz(3),
    undo_until timestamptz(3),
    actor_type text not null,
    constraint operations_actor_type_check check (actor_type in ('user', 'key')),
    constraint operations_kind_check check (kind in ('change', 'delete', 'undo', 'import')),
    constraint operations_status_check check (
      status in (
        'receiving', 'waiting', 'running', 'done', 'canceled', 'failed'
      )
    ),
    constraint operations_confirm_id_key unique (confirm_id),
    constraint operations_pkey primary key (operation_id)
  );
  create index operations_actor_id_idx on operations (actor_id, created_at);
  create index operations_created_at_idx on operations (created_at, operation_id);
  create index operations_unfinished_idx on operations (operation_id) where finished_at is null;
  create table operation_batches (
    operation_id uuid not null,
    number integer not null,
    user_ids uuid[],
    rows jsonb,
    constraint operation_batches_pkey primary key (operation_id, number),
    constraint operation_batches_operation_id_fkey foreign key (operation_id) references operations
      (operation_id) on delete cascade
  );
  create table operation_skipped (
    operation_id uuid not null,
    line integer not null,
    errors jsonb not null,
    cells jsonb,
    identities text[] not null default '{}',
    constraint operation_skipped_pkey primary key (operation_id, line),
    constraint operation_skipped_operation_id_fkey foreign key (operation_id) references operations
      (operation_id) on delete cascade
  );
  create index operation_skipped_identities_idx on operation_skipped using gin (identities);
`;

/** `json` keeps the order of the fields: a repeated response must be identical. */
export const answers = `
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
    actor_type text not null,
    actor_scope text,
    constraint idempotency_keys_actor_type_check check (actor_type in ('user', 'key')),
    constraint idempotency_keys_pkey primary key (user_id, method, path, key_hash)
  );
  create index idempotency_keys_created_at_idx on idempotency_keys (created_at);
`;

/** Serve instances of releases that do not know the kinds of actors. */
export const actorTypes = `
  create function operations_actor_type() returns trigger language plpgsql as $$
  begin
    new.actor_type := case
      when new.session_id is null and exists (select from keys where key_id = new.actor_id) then 'key'
      else 'user' end;
    return new;
  end $$;
  create trigger operations_actor_type before insert on operations for each row
    when (new.actor_type is null)
    execute function operations_actor_type();
  create function idempotency_keys_actor_type() returns trigger language plpgsql as $$
  begin
    new.actor_type := case when exists (select from keys where key_id = new.user_id) then 'key' else 'user' end;
    return new;
  end $$;
  create trigger idempotency_keys_actor_type before insert on idempotency_keys for each row
    when (new.actor_type is null)
    execute function idempotency_keys_actor_type();
`;

/**
 * Format a cell by RFC 4180. A value that a spreadsheet would treat as a formula gets an
 * apostrophe, and so does each part of a cell behind `;` or tab. Single expressions, which the
 * planner inlines.
 */
export const exportCells = `
  create function csv_quoted(value text) returns text language sql immutable parallel safe as $$
    select '"' || replace(value, '"', '""') || '"'
  $$;
  create function csv_cell(value text) returns text language sql immutable parallel safe as $$
    select case
      when value is null then ''
      when value !~ '^''*[-=+@\\t\\r\\n＝＋－＠]|[",;\\t\\r\\n]' then value
      else csv_quoted(
        case when value ~ '^''*[-=+@\\t\\r\\n＝＋－＠]' then '''' else '' end
        || regexp_replace(value, '([;\\t\\r\\n])(?=[''"]*[-=+@＝＋－＠])', '\\1''', 'g')
      ) end
  $$;
  create function rfc3339(value timestamptz) returns text language sql stable parallel safe as $$
    select to_char(value at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  $$;
`;

/** Counts that a job refreshes. `''` stands for no carrier. */
export const overview = `
  create table overview_counts (
    carrier_id text not null,
    user_type text not null,
    kind text not null,
    count integer not null,
    constraint overview_counts_pkey primary key (carrier_id, user_type, kind)
  );
  create table overview_refreshes (
    only_row boolean not null default true,
    as_of timestamptz(3) not null,
    due_at timestamptz(3) not null,
    constraint overview_refreshes_only_row_check check (only_row),
    constraint overview_refreshes_pkey primary key (only_row)
  );
  create table login_counts (
    hour timestamptz(3) not null,
    carrier_id text not null,
    succeeded integer not null,
    failed integer not null,
    constraint login_counts_pkey primary key (hour, carrier_id)
  );
`;
