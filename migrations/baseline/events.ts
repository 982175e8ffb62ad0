/**
 * The log is append-only, except for the erasure of the values of purged users, and the retention.
 * Partitions by month are added at each start and once a day (ADR 0013). `events_first` has
 * everything before the month after next, with the names of databases whose log was split.
 */
export const events = `
  create function events_append_only() returns trigger language plpgsql as $$
  declare
    erasable constant text[] := '{ip,changes,target_version}';
  begin
    if tg_op = 'UPDATE' and current_setting('carrier_identity.erasing', true) = 'on' then
      if to_jsonb(new) - erasable = to_jsonb(old) - erasable and new.changes <@ old.changes
        and (new.ip is null or new.ip = old.ip)
        and (new.target_version is null or new.target_version = old.target_version) then
        return new;
      end if;
    end if;
    if tg_op = 'DELETE' and current_setting('carrier_identity.expiring', true) = 'on' then
      if tg_table_name = 'events_first' and old.occurred_at <= now() - interval '720 hours' then return old; end if;
    end if;
    raise exception 'events are append-only';
  end $$;
  create table events (
    event_id uuid not null default uuid_v7(),
    event_type text not null,
    occurred_at timestamptz(3) not null default now(),
    actor_id uuid,
    actor_type text not null,
    target_type text,
    target_id uuid,
    carrier_id text,
    operation_id uuid,
    session_id uuid,
    ip inet,
    request_id text,
    changes jsonb not null default '{}',
    target_version integer,
    tx xid8 default pg_current_xact_id(),
    constraint events_actor_type_check check (actor_type in ('user', 'key', 'system')),
    constraint events_pkey primary key (occurred_at, event_id)
  ) partition by range (occurred_at);
  create index events_actor_id_idx on events (actor_id, occurred_at);
  create index events_carrier_id_idx on events (carrier_id, occurred_at);
  create index events_event_type_idx on events (event_type, occurred_at);
  create index events_operation_id_idx on events (operation_id, target_id) where operation_id is not null;
  create index events_target_id_idx on events (target_id, occurred_at);
  create trigger events_append_only before delete or update on events for each row
    execute function events_append_only();
  create trigger events_no_truncate before truncate on events for each statement
    execute function events_append_only();
  do $$
  declare
    boundary constant timestamp := date_trunc('month', now() at time zone 'UTC') + interval '2 months';
  begin
    execute format(
      'create table events_first partition of events for values from (minvalue) to (%L)',
      boundary at time zone 'UTC'
    );
  end $$;
  create trigger events_no_truncate before truncate on events_first for each statement
    execute function events_append_only();
  alter index events_first_actor_id_occurred_at_idx rename to events_first_actor_id_idx;
  alter index events_first_carrier_id_occurred_at_idx rename to events_first_carrier_id_idx;
  alter index events_first_event_type_occurred_at_idx rename to events_first_event_type_idx;
  alter index events_first_operation_id_target_id_idx rename to events_first_operation_id_idx;
  alter index events_first_target_id_occurred_at_idx rename to events_first_target_id_idx;
`;

/**
 * Adds the missing partitions from the current month on, and returns their number. Begins with the
 * month of yesterday, in case the clock is set back. Several instances may call it at once.
 * ATTACH locks the parent only against other changes of its schema.
 */
export const months = `
  create function events_add_months(ahead integer default 3) returns integer language plpgsql as $$
  declare
    -- Months without a time zone are months in UTC.
    month timestamp := date_trunc('month', (now() - interval '1 day') at time zone 'UTC');
    last_month constant timestamp := date_trunc('month', now() at time zone 'UTC') + make_interval(months => ahead);
    first_end constant timestamptz := (
      select substring(pg_get_expr(relpartbound, oid) from 'TO \\(''(.+)''\\)')::timestamptz
      from pg_class
      where oid = to_regclass('events_first') and relispartition
    );
    name text;
    added integer := 0;
  begin
    perform pg_advisory_xact_lock(7263008);
    while month <= last_month loop
      name := 'events_' || to_char(month, 'YYYY_MM');
      if to_regclass(name) is null and (first_end is null or month at time zone 'UTC' >= first_end) then
        execute format('create table %I (like events including defaults including constraints)', name);
        execute format(
          'create trigger events_no_truncate before truncate on %I
            for each statement execute function events_append_only()',
          name
        );
        execute format(
          'alter table events attach partition %I for values from (%L) to (%L)',
          name, month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC'
        );
        added := added + 1;
      end if;
      month := month + interval '1 month';
    end loop;
    return added;
  end $$;
`;

/**
 * Removes events that are older than a number of days. Drops one partition that is wholly older, or
 * else deletes up to a maximum of rows from the first partition. Returns the number of events, or
 * null if none is left. Waits at most 200 ms for the lock of the table, because writers queue
 * behind it.
 */
export const retention = `
  create function events_remove_expired(days integer, rows_max integer) returns bigint
  language plpgsql set lock_timeout = '200ms' as $$
  declare
    expired_until constant timestamptz := now() - make_interval(hours => 24 * greatest(days, 30));
    old regclass;
    removed bigint;
  begin
    -- Another instance is doing it, or is adding partitions.
    if not pg_try_advisory_xact_lock(7263008) then return null; end if;
    select partition_id into old
    from (
      select
        inhrelid::regclass as partition_id,
        substring(pg_get_expr(relpartbound, inhrelid) from 'TO \\(''(.+)''\\)')::timestamptz as ends_at
      from pg_inherits
      join pg_class on pg_class.oid = inhrelid
      where inhparent = 'events'::regclass
    ) partitions
    where ends_at <= expired_until
    order by ends_at
    limit 1;
    if old is not null then
      execute format('select count(*) from %s', old) into removed;
      execute format('alter table events detach partition %s', old);
      execute format('drop table %s', old);
      return removed;
    end if;
    -- An operator may have detached the table to keep it.
    if not exists (select from pg_class where oid = to_regclass('events_first') and relispartition) then
      return null;
    end if;
    perform set_config('carrier_identity.expiring', 'on', true);
    delete from events_first
    where (occurred_at, event_id) in (
      select occurred_at, event_id
      from events_first
      where occurred_at <= expired_until
      order by occurred_at
      limit rows_max
    );
    get diagnostics removed = row_count;
    perform set_config('carrier_identity.expiring', 'off', true);
    return nullif(removed, 0);
  end $$;
`;
