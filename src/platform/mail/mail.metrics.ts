import { Counter } from 'prom-client';

/** Attempts to send a mail. */
export const mails = new Counter({
  name: 'carrier_identity_mails_total',
  help: 'Attempts to send a mail, by mail and outcome: sent or failed',
  labelNames: ['mail', 'outcome'] as const,
});
