import { Counter } from 'prom-client';
import { AppError } from '../common/errors/app-error';

const outcomes: Partial<Record<string, string>> = {
  'auth.invalid_credentials': 'failed',
  'auth.ip_not_allowed': 'address_rejected',
  'auth.too_many_attempts': 'locked',
  'service.overloaded': 'overloaded',
};

/** Logins with a password, by outcome. */
export const logins = new Counter({
  name: 'carrier_identity_logins_total',
  help: 'Logins by outcome: succeeded, failed, address_rejected, locked, overloaded or error',
  labelNames: ['outcome'] as const,
});
for (const outcome of ['succeeded', ...Object.values(outcomes), 'error']) logins.inc({ outcome }, 0);

/** Returns the outcome of a login that threw an error. */
export function outcomeOf(error: unknown): string {
  return (error instanceof AppError && outcomes[error.code]) || 'error';
}

/** Account lockouts. Each further wrong password after the first lockout counts as well. */
export const lockouts = new Counter({
  name: 'carrier_identity_lockouts_total',
  help: 'Account lockouts, including those that extend an earlier one',
});

/**
 * Logins that were found for access tokens, by source. Plain numbers, because check-token counts
 * one for each request: `inc` of a counter with labels would take ten times as long.
 */
export const tokenLookups = { memory: 0, database: 0 };

new Counter({
  name: 'carrier_identity_token_lookups_total',
  help: 'Sessions looked up for access tokens, by source: memory or database',
  labelNames: ['source'] as const,
  collect() {
    this.reset();
    for (const [source, count] of Object.entries(tokenLookups)) this.inc({ source }, count);
  },
});
