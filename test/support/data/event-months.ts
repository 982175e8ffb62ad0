import type { Client, Pool } from 'pg';

/**
 * Replaces the first partition of the audit log by one partition for each of the last 14 months and
 * the months that it covered, as after some time of operation.
 */
export async function splitFirstPartition(sql: Pool | Client): Promise<void> {
  await sql.query(`
    do $$
    declare
      first_end timestamptz := (
        select substring(pg_get_expr(relpartbound, oid) from 'TO \\(''(.+)''\\)')::timestamptz
        from pg_class
        where oid = 'events_first'::regclass
      );
      month timestamp := date_trunc('month', now() at time zone 'UTC') - interval '14 months';
      name text;
    begin
      alter table events detach partition events_first;
      while month at time zone 'UTC' < first_end loop
        name := 'events_' || to_char(month, 'YYYY_MM');
        execute format('create table %I (like events including defaults including constraints)', name);
        execute format('create trigger events_no_truncate before truncate on %I
          for each statement execute function events_append_only()', name);
        execute format('alter table events attach partition %I for values from (%L) to (%L)',
          name, month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC');
        month := month + interval '1 month';
      end loop;
      insert into events select * from events_first;
      drop table events_first;
    end $$`);
}

/** Returns the partitions of the audit log with their bounds, oldest first. */
export async function partitions(sql: Pool | Client): Promise<{ name: string; bounds: string }[]> {
  const { rows } = await sql.query<{ name: string; bounds: string }>(`
    select relname as name, pg_get_expr(relpartbound, oid) as bounds
    from pg_class
    join pg_inherits on inhrelid = oid
    where inhparent = 'events'::regclass
    order by relname = 'events_first' desc, relname`);
  return rows;
}

/** Changes the times of events as a superuser could, because the service cannot. */
export async function moveEvents(sql: Pool | Client, change: string, values: unknown[] = []): Promise<void> {
  await sql.query('alter table events disable trigger events_append_only');
  await sql.query(`update events set occurred_at = ${change}`, values);
  await sql.query('alter table events enable trigger events_append_only');
}
