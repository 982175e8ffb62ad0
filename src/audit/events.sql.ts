import { sql, type SqlFragment } from '../http/lists/sql';
import type { EventBase } from './event-base';

/** Largest expected correction of the database's clock. */
const clockMarginMs = 3_600_000;

/**
 * Renders the condition that an event was recorded between two times, so that the partitions of
 * other months are not read.
 * @param until null = until now
 */
export function recordedBetween(from: Date, until: Date | null): SqlFragment {
  const isAfter = sql`events.occurred_at >= ${new Date(from.getTime() - clockMarginMs)}::timestamptz`;
  if (until === null) return isAfter;
  return sql`${isAfter}
    and events.occurred_at <= ${new Date(until.getTime() + clockMarginMs)}::timestamptz`;
}

/**
 * Renders the INSERT that records one event per target.
 * Use it as a data-modifying CTE, so that a change and its events are one statement.
 * @param targets FROM item with the alias `target` and these columns:
 *   `id` uuid: the target;
 *   `carrier_id` text: the carrier of the user concerned, which decides who may see the event;
 *   `changes` jsonb: `{ field: { before, after } }`, never a secret;
 *   `version` integer: the version of a user after the change, otherwise null
 */
export function recordEventsSql(common: EventBase, targets: SqlFragment): SqlFragment {
  const { event_type, actor_id, actor_type, target_type, operation_id, session_id, ip, request_id } = common;
  return sql`
    insert into events (
      event_type, actor_id, actor_type, target_type, operation_id, session_id, ip, request_id,
      target_id, carrier_id, changes, target_version
    )
    select
      ${event_type}, ${actor_id}::uuid, ${actor_type}, ${target_type}, ${operation_id}::uuid, ${session_id}::uuid,
      ${ip}::inet, ${request_id},
      target.id, target.carrier_id, target.changes, target.version
    from ${targets}`;
}
