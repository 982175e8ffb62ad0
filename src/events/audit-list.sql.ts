import { sql, type SqlFragment } from '../common/query/sql';
import type { ListSql } from '../common/query/page';
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
function hasId(value: unknown): SqlFragment {
  const isEvent = sql`events.event_id = ${value}::uuid`;
  const id = String(value);
  if (id[14] !== '7') return isEvent;
  const createdMs = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  const [from, until] = [new Date(createdMs - transactionMaxMs), new Date(createdMs + toleranceMs)];
  return sql`${isEvent}
    and events.occurred_at between ${from}::timestamptz and ${until}::timestamptz`;
}
