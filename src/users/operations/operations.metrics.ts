import { Gauge } from 'prom-client';
import { operationKinds } from './operation.entity';
import type { UnfinishedCount } from './operation-batches.repository';

const operationsUnfinished = new Gauge({
  name: 'carrier_identity_operations_unfinished',
  help: 'Operations that have not ended, by kind and status: receiving, waiting or running',
  labelNames: ['kind', 'status'] as const,
  aggregator: 'max',
});

const operationItems = new Gauge({
  name: 'carrier_identity_operation_items',
  help: 'Users or rows of operations that have not ended, by kind and progress: processed or remaining',
  labelNames: ['kind', 'progress'] as const,
  aggregator: 'max',
});

const operationIdle = new Gauge({
  name: 'carrier_identity_operation_idle_seconds',
  help: 'Longest time without progress of an accepted operation that has not ended, by kind',
  labelNames: ['kind'] as const,
  aggregator: 'max',
});

/** The gauges that `showUnfinished` sets. */
export const unfinishedGauges = [operationsUnfinished, operationItems, operationIdle];

/** Sets the gauges of all kinds and states. */
export function showUnfinished(rows: UnfinishedCount[]): void {
  for (const kind of operationKinds) {
    const ofKind = rows.filter((row) => row.kind === kind);
    for (const status of ['receiving', 'waiting', 'running'] as const)
      operationsUnfinished.set({ kind, status }, ofKind.find((row) => row.status === status)?.count ?? 0);
    const sum = (field: 'processed' | 'remaining') => ofKind.reduce((total, row) => total + row[field], 0);
    for (const progress of ['processed', 'remaining'] as const) operationItems.set({ kind, progress }, sum(progress));
    const accepted = ofKind.filter(({ status }) => status !== 'receiving');
    operationIdle.set({ kind }, Math.max(0, ...accepted.map(({ idle_seconds }) => idle_seconds)));
  }
}
