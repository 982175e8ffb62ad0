import { Gauge } from 'prom-client';

/** Age of the oldest change that the feed does not show yet. */
export const behindSeconds = new Gauge({
  name: 'carrier_identity_changes_behind_seconds',
  help: 'Age of the oldest committed change that an older open transaction (cause) holds back from the change feed',
  labelNames: ['cause'] as const,
  aggregator: 'max',
});
