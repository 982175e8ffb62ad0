import { Gauge } from 'prom-client';

/** Mails that are not sent yet. */
export const mailsUnsent = new Gauge({
  name: 'carrier_identity_mails_unsent',
  help: 'Mails of all instances that are not sent yet, by state: waiting, sending, retrying or failed',
  labelNames: ['state'] as const,
  aggregator: 'max',
});
