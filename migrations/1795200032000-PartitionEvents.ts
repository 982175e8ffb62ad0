import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Splits the audit log into partitions by month. The existing table becomes the first partition,
 * without copying a row. Only the swap blocks writers, for milliseconds.
 */
export class PartitionEvents1795200032000 implements MigrationInterface {
  /** VALIDATE must not run in the transaction that adds the constraint: the lock would be kept. */
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    const [table] = (await runner.query(`select relkind from pg_class where oid = 'events'::regclass`)) as {
      relkind: string;
    }[];
    // A previous run was killed after the swap, before the migration was recorded as applied.
    if (table?.relkind === 'p') return;
    const boundary = await boundaryOf(runner);
    // Replaces the constraint of an interrupted run, whose boundary may be too early by now.
    await briefly(runner, [
      'alter table events drop constraint if exists events_first_range',
      `alter table events add constraint events_first_range check (occurred_at < '${boundary}') not valid`,
    ]);
    await runner.query('alter table events validate constraint events_first_range');
    await briefly(runner, [appendOnly, addMonths, removeExpired, ...swap(boundary), 'select events_add_months()']);
  }

  /** Copies all events into one table. Writers wait. */
  async down(runner: QueryRunner): Promise<void> {
    for (const statement of [...merge, strict]) await runner.query(statement);
  }
}

/** Returns the first month that the existing table does not contain: the month after next, UTC. */
async function boundaryOf(runner: QueryRunner): Promise<string> {
  const [row] = (await runner.query(`
    select to_char(
      greatest(
        date_trunc('month', now() at time zone 'UTC') + interval '2 months',
        -- A clock that was wrong for some time may have left events in the future.
        date_trunc('month', max(occurred_at) at time zone 'UTC') + interval '1 month'
      ),
      'YYYY-MM-DD"T00:00:00Z"'
    ) as boundary
    from events`)) as { boundary: string }[];
  return row?.boundary ?? '';
}

/** Runs short statements that block writers in one transaction. Gives up after half a second. */
async function briefly(runner: QueryRunner, statements: string[]): Promise<void> {
  await runner.startTransaction();
  try {
    // Makes autovacuum release the table before a statement waits for a lock that blocks writers.
    await runner.query('lock table events in share update exclusive mode');
    await runner.query(`set local lock_timeout = '500ms'`);
    for (const statement of statements) await runner.query(statement);
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction().catch(() => undefined);
    throw error;
  }
}

/** Columns of the indexes that the parent defines and each partition has. */
const indexes: Record<string, string> = {
  target_id: '(target_id, occurred_at)',
  actor_id: '(actor_id, occurred_at)',
  carrier_id: '(carrier_id, occurred_at)',
  event_type: '(event_type, occurred_at)',
  operation_id: '(operation_id, target_id) where operation_id is not null',
};

/** ATTACH scans no row, because the constraint proves the range. */
function swap(boundary: string): string[] {
  const names = Object.keys(indexes);
  return [
    'alter table events rename to events_first',
    // The triggers for rows are copied from the parent. Triggers for TRUNCATE are not.
    'drop trigger events_append_only on events_first',
    'drop index events_occurred_at_idx',
    `alter table events_first drop constraint events_pkey,
      add constraint events_first_pkey primary key using index events_first_pkey`,
    ...names.map((name) => `alter index events_${name}_idx rename to events_first_${name}_idx`),
    `create table events (like events_first including defaults including constraints)
      partition by range (occurred_at)`,
    'alter table events drop constraint events_first_range',
    'alter table events add constraint events_pkey primary key (occurred_at, event_id)',
    ...names.map((name) => `create index events_${name}_idx on events ${indexes[name]}`),
    ...triggers,
    `alter table events attach partition events_first for values from (minvalue) to ('${boundary}')`,
    'alter table events_first drop constraint events_first_range',
  ];
}

const triggers = [
  `create trigger events_append_only before update or delete on events
    for each row execute function events_append_only()`,
  `create trigger events_no_truncate before truncate on events
    for each statement execute function events_append_only()`,
];

const merge = [
  'create table events_merged (like events including defaults including constraints)',
  'insert into events_merged select * from events',
  'drop table events',
  'drop function events_add_months(integer), events_remove_expired(integer, integer)',
  'alter table events_merged rename to events',
  'alter table events add constraint events_pkey primary key (event_id)',
  'create unique index events_first_pkey on events (occurred_at, event_id)',
  'create index events_occurred_at_idx on events (occurred_at, event_id)',
  ...Object.entries(indexes).map(([name, definition]) => `create index events_${name}_idx on events ${definition}`),
  ...triggers,
];

/**
 * Adds the missing partitions from the current month on, and returns their number. Begins with the
 * month of yesterday, in case the clock is set back. Several instances may call it at once.
 * An empty table needs no constraint before ATTACH. ATTACH locks the parent only against other
 * changes of its schema.
 * Nothing else uses the key of the advisory lock: transactions that grant roles would wait.
 */
const addMonths = `
  create or replace function events_add_months(ahead integer default 3) returns integer language plpgsql as $$
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
  end $$
`;

/**
 * Removes events that are older than a number of days. Drops one partition that is wholly older, or
 * else deletes up to a maximum of rows from the first partition. Returns the number of events, or
 * null if none is left. Waits at most 200 ms for the lock of the table, because writers queue
 * behind it.
 */
const removeExpired = `
  create or replace function events_remove_expired(days integer, rows_max integer) returns bigint
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
  end $$
`;

/** Lets the retention delete events of the first partition once they are 30 days old. */
const appendOnly = `
  create or replace function events_append_only() returns trigger language plpgsql as $$
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
  end $$
`;

/** The function as ProtectEvents defines it. */
const strict = `
  create or replace function events_append_only() returns trigger language plpgsql as $$
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
    raise exception 'events are append-only';
  end $$
`;
