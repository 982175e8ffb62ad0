import type { AuditEvent } from './data';

/** A row of the audit log: an event, or all events of an operation on the page. */
export interface AuditRow {
  /** the event, or the first event of the operation in the order of the list */
  event: AuditEvent;
  /** the events of the operation; null for a single event */
  folded: AuditEvent[] | null;
}

/** Folds the events of each operation into one row. The rows of unfolded operations follow it. */
export function rowsOf(events: readonly AuditEvent[], unfolded: ReadonlySet<string>): AuditRow[] {
  return events.flatMap((event) => {
    const { operation_id } = event;
    const together = operation_id === null ? [] : events.filter((other) => other.operation_id === operation_id);
    if (operation_id === null || together.length < 2) return [{ event, folded: null }];
    if (together[0] !== event) return [];
    const parts = unfolded.has(operation_id) ? together.map((part) => ({ event: part, folded: null })) : [];
    return [{ event, folded: together }, ...parts];
  });
}
