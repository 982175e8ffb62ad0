import type { Scope } from '../access/scope';
import { visibleTo } from '../access/scope.sql';
import type { ListSql } from '../http/lists/page';
import { rawSql, sql, type SqlFragment } from '../http/lists/sql';
import { auditList } from './audit-list';

/** Renders filters and sort fields of the audit log. */
export const auditListSql: Omit<ListSql, 'from'> = {
  list: auditList,
  filter: { spec: auditList.filter, table: 'events', fields: { event_id: { equals: hasId } } },
  id: 'events.event_id',
  sorts: { occurred_at: { partitions: true } },
};

/** Longest time from the beginning of a transaction to its last event, and a margin. */
const transactionMaxMs = 3_600_000;
/** Rounding of `occurred_at`, and small corrections of the clock. */
const toleranceMs = 60_000;

/**
 * Renders the search for an event by its id. The primary key begins with `occurred_at`, so the
 * condition also limits this time: a transaction begins shortly before the time in the UUIDv7.
 */
export function hasId(value: unknown): SqlFragment {
  const isEvent = sql`events.event_id = ${value}::uuid`;
  const id = String(value);
  if (id[14] !== '7') return isEvent;
  const createdMs = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  const [from, until] = [new Date(createdMs - transactionMaxMs), new Date(createdMs + toleranceMs)];
  return sql`${isEvent}
    and events.occurred_at between ${from}::timestamptz and ${until}::timestamptz`;
}

/**
 * Renders which events a scope shows: events about users within the scope, and about the actor.
 * An event is about the actor only if its target is a user: an API key or a session may have the
 * same id.
 */
export function visibleEvents(scope: Scope): SqlFragment {
  return visibleTo(scope, {
    user_id: 'events.target_id',
    user_type: `'carrier'`,
    carrier_id: 'events.carrier_id',
    own_if: `events.target_type in ('user', 'login')`,
  });
}

/** Renders the condition that an event is younger than a number of days; 0 = any age. */
export function listedEvents(days: number): SqlFragment {
  if (days === 0) return rawSql('true');
  // Hours, because days may be longer or shorter in the time zone of the session.
  return rawSql(`events.occurred_at > now() - interval '${24 * days} hours'`);
}

/**
 * Renders the table of events as a scope shows it. Address and session are null if the actor of the
 * event is outside the scope. Filters see these nulls too (OWASP ASVS 8.2.3).
 */
export function eventsFor(scope: Scope): SqlFragment {
  if (scope.user_type === 'system' && scope.carrier_scope === null) return rawSql('events');
  const user = { user_id: 'acting.user_id', user_type: 'acting.user_type', carrier_id: 'acting.carrier_id' };
  const key = { ...user, user_id: 'acting.created_by' };
  const isActorVisible = sql`
    case raw.actor_type
      when 'user' then exists (
        select 1
        from users acting
        where acting.user_id = raw.actor_id and ${visibleTo(scope, user)}
      )
      when 'key' then exists (
        select 1
        from keys acting
        where acting.key_id = raw.actor_id and ${visibleTo(scope, key)}
      )
      else true
    end`;
  return sql`(
    select
      event_id, event_type, occurred_at, actor_id, actor_type, target_type, target_id, carrier_id,
      operation_id, request_id, changes,
      case when ${isActorVisible} then raw.ip end as ip,
      case when ${isActorVisible} then raw.session_id end as session_id
    from events raw
  ) events`;
}
