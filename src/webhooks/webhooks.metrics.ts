import { Counter, Gauge } from 'prom-client';
import type { WebhookCount } from './webhook-runs.repository';

/** Requests of webhooks. */
export const deliveriesSent = new Counter({
  name: 'carrier_identity_webhook_requests_total',
  help: 'Requests of webhooks by result',
  labelNames: ['result'] as const,
});

const webhooks = new Gauge({
  name: 'carrier_identity_webhooks',
  help: 'Webhooks by state',
  labelNames: ['state'] as const,
  aggregator: 'max',
});

const behind = new Gauge({
  name: 'carrier_identity_webhooks_behind_seconds',
  help: 'Age of the oldest change that a webhook of the state has to send',
  labelNames: ['state'] as const,
  aggregator: 'max',
});

/** Gauges that are read from the database. */
export const webhookGauges = [webhooks, behind];

/** Sets the gauges. */
export function showWebhooks(rows: WebhookCount[]): void {
  for (const { state, count, behind_seconds } of rows) {
    webhooks.set({ state }, count);
    behind.set({ state }, behind_seconds);
  }
}
