import type { Pool } from 'pg';
import { eventCatalogue, type EventDefinition, type EventType, targetOf } from '../../../src/audit/event-catalogue';

/** Fails if a recorded event, its target or a key of its changes is not in the event catalogue. */
export async function assertCatalogued(sql: Pool): Promise<void> {
  const { rows } = await sql.query<{ event_type: string; target_type: string | null; key: string | null }>(`
    select distinct event_type, target_type, key
    from events left join lateral jsonb_object_keys(changes) key on true`);
  const unknown = rows.filter(({ event_type, target_type, key }) => {
    if (!(event_type in eventCatalogue)) return true;
    const definition: EventDefinition = eventCatalogue[event_type as EventType];
    const keys = [...(definition.personal ?? []), ...(definition.impersonal ?? [])];
    return (
      (target_type !== null && target_type !== targetOf(event_type as EventType)) ||
      (key !== null && !keys.includes(key))
    );
  });
  if (unknown.length > 0) throw new Error(`events that are not in the catalogue: ${JSON.stringify(unknown)}`);
}

/** Returns the changes in the events of a type about a target, the oldest first. */
export async function changesOf(
  service: { rows: <Row>(text: string, values: unknown[]) => Promise<Row[]> },
  event_type: string,
  target_id: string,
): Promise<Record<string, unknown>[]> {
  const rows = await service.rows<{ changes: Record<string, unknown> }>(
    'select changes from events where event_type = $1 and target_id = $2 order by event_id',
    [event_type, target_id],
  );
  return rows.map(({ changes }) => changes);
}
