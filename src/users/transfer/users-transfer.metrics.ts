import { Counter } from 'prom-client';

/** Rows of imports, counted once their batch is committed. Dry runs do not count. */
export const importRows = new Counter({
  name: 'carrier_identity_import_rows_total',
  help: 'Imported rows by outcome: created, unchanged or failed',
  labelNames: ['outcome'] as const,
});
for (const outcome of ['created', 'unchanged', 'failed']) importRows.inc({ outcome }, 0);
