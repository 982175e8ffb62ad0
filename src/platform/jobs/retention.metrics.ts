import { Counter } from 'prom-client';

/** Rows that were removed because of their age, by kind. */
export const retentionRemoved = new Counter({
  name: 'carrier_identity_retention_removed_total',
  help: 'Rows removed because of their age, by kind',
  labelNames: ['kind'] as const,
});
for (const kind of ['sessions', 'users', 'events', 'operations', 'skipped_rows']) retentionRemoved.inc({ kind }, 0);
