import { Inject, Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import type { ListQuery } from '../http/lists/list-query';
import { type Page, readPage } from '../http/lists/page';
import { joinSql, rawSql, sql } from '../http/lists/sql';
import type { Answered } from '../platform/times';
import { CONFIG, type Config } from '../platform/config/config';
import { Database } from '../platform/database/database';
import { auditListSql, eventsFor, listedEvents, visibleEvents } from './audit-list.sql';
import type { EventBase } from './event-base';
import { type Change, impersonalKeys } from './event-catalogue';
import type { EventEntity } from './event.entity';
import { recordEventsSql } from './events.sql';

const columns = rawSql(`
  events.event_id, events.event_type, events.occurred_at, events.actor_id, events.actor_type,
  events.target_type, events.target_id, events.carrier_id, events.operation_id, events.session_id,
  host(events.ip) as ip, events.request_id, events.changes`);

/** A month of the audit log. */
export interface EventMonth {
  from: Date;
  /** beginning of the next month */
  until: Date;
}

/** The target of an event, and what changed. */
export interface NewEventTarget {
  id: string | null;
  carrier_id: string | null;
  changes: Record<string, Change | undefined>;
}

/** The SQL of the audit log. */
@Injectable()
export class EventsRepository {
  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Adds one event for each target. */
  async insert(common: EventBase, targets: NewEventTarget[]): Promise<void> {
    const rows = sql`(
      select
        id,
        carrier_id,
        changes,
        null::integer as version
      from jsonb_to_recordset(${JSON.stringify(targets)}::jsonb) as row (id uuid, carrier_id text, changes jsonb)
    ) target`;
    await this.database.runPrepared(recordEventsSql(common, rows));
  }

  /** Returns one page of the events that the reader may see and the query matches. */
  list(reader: Actor, query: ListQuery): Promise<Page<Answered<EventEntity>>> {
    const visible = joinSql([visibleEvents(reader), listedEvents(this.config.AUDIT_DAYS)], '\nand ');
    const source = { ...auditListSql, from: eventsFor(reader), columns, visible };
    return readPage<Answered<EventEntity>>(this.database.reads(reader), source, query);
  }

  /**
   * Erases the data that identifies or describes users from the log, before they are purged.
   * Ids, event types, times and the keys that the catalogue declares impersonal stay. The addresses
   * of other actors stay too. Call it before the sessions of the users are deleted.
   * @param month part of the log; null = the whole log
   */
  async eraseUsers(user_ids: string[], month: EventMonth | null): Promise<void> {
    const { run } = this.database;
    const within =
      month === null
        ? rawSql('true')
        : sql`occurred_at >= ${month.from}::timestamptz and occurred_at < ${month.until}::timestamptz`;
    // Sessions are removed 90 days after their end. The events of logins name removed sessions too.
    const session_ids = sql`array(
      select session_id
      from sessions
      where user_id = any(${user_ids}::uuid[])
      union
      select session_id
      from events
      where target_id = any(${user_ids}::uuid[]) and event_type = 'login.succeeded'
    )`;
    // A single list of ids uses the index on target_id; with OR, the planner reads the whole log.
    // Compare the target type too: an imported user may have the same id as another object.
    const isAboutUsers = sql`target_id = any(${user_ids}::uuid[] || ${session_ids})
      and case
        -- A subquery is hashed. PostgreSQL would search a computed array row by row.
        when target_type = 'session' then target_id in (select unnest(${session_ids}))
        else target_type in ('user', 'login') and target_id = any(${user_ids}::uuid[])
      end`;
    const isImpersonal = sql`event_type || '/' || key = any(${impersonalKeys()}::text[])`;
    await run(sql`select set_config('carrier_identity.erasing', 'on', true)`);
    await run(sql`
      update events
      set ip = null
      where ${within} and ip is not null and (
        (actor_type = 'user' and actor_id = any(${user_ids}::uuid[]))
        or (
          actor_id is null
          and ${isAboutUsers}
        )
      )`);
    await run(sql`
      update events
      set
        changes = (
          select coalesce(jsonb_object_agg(key, value), '{}')
          from jsonb_each(changes)
          where ${isImpersonal}
        ),
        target_version = null
      where ${within}
        and ${isAboutUsers}
        and (
          target_version is not null
          or exists (
            select
            from jsonb_each(changes)
            where not ${isImpersonal}
          )
        )`);
    await run(sql`select set_config('carrier_identity.erasing', 'off', true)`);
  }

  /** Returns the time of the last event. */
  async findLastTime(): Promise<Date | null> {
    const [row] = await this.database.run<{ at: Date | null }>(sql`
      select max(occurred_at) as at
      from events`);
    return row?.at ?? null;
  }

  /** Returns the months from the first event until now. */
  listMonths(): Promise<EventMonth[]> {
    return this.database.run<EventMonth>(sql`
      select month as from, month + interval '1 month' as until
      from generate_series(
        (select date_trunc('month', min(occurred_at)) from events),
        now(),
        interval '1 month'
      ) as month`);
  }

  /**
   * Adds the partitions of the current and the next three months that are missing. Several
   * instances may do this at once.
   */
  async addMonths(): Promise<void> {
    await this.database.run(sql`select events_add_months()`);
  }

  /**
   * Removes one batch of the events that are older than `days` days: a partition that is wholly
   * older, or else up to `max` events of the first partition. Returns their number, or null if none
   * is left. Waits for the lock of the table for at most 200 ms, because writers queue behind it.
   */
  async removeOld(days: number, max: number): Promise<number | null> {
    const [row] = await this.database.run<{ removed: string | null }>(sql`
      select events_remove_expired(${days}::integer, ${max}::integer) as removed`);
    const removed = row?.removed ?? null;
    return removed === null ? null : Number(removed);
  }
}
