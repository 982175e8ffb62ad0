import { Counter, Gauge, Histogram } from 'prom-client';

/** Password hashes that wait in the queue of this process. */
export const hashesWaiting = new Gauge({
  name: 'carrier_identity_hash_queue_waiting',
  help: 'Password hashes that wait in the queue, by kind: login or other',
  labelNames: ['kind'] as const,
  aggregator: 'sum',
});
for (const kind of ['login', 'other']) hashesWaiting.set({ kind }, 0);

/** Time that password hashes waited in the queue; 0 for hashes that started immediately. */
export const hashWaits = new Histogram({
  name: 'carrier_identity_hash_queue_wait_seconds',
  help: 'Time that password hashes waited in the queue, by kind: login or other',
  labelNames: ['kind'] as const,
  buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
});
for (const kind of ['login', 'other']) hashWaits.zero({ kind });

/** Strength checks of new passwords. */
export const passwordChecks = new Counter({
  name: 'carrier_identity_password_checks_total',
  help: 'Strength checks of new passwords by outcome: strong, weak (rejected) or skipped (accepted without the check)',
  labelNames: ['outcome'] as const,
});
for (const outcome of ['strong', 'weak', 'skipped']) passwordChecks.inc({ outcome }, 0);

/** Lookups in `BREACHED_PASSWORDS`. */
export const breachedLookups = new Counter({
  name: 'carrier_identity_breached_password_lookups_total',
  help: 'Lookups of breached passwords by outcome: breached (rejected), not_found or failed (accepted)',
  labelNames: ['outcome'] as const,
});
for (const outcome of ['breached', 'not_found', 'failed']) breachedLookups.inc({ outcome }, 0);
