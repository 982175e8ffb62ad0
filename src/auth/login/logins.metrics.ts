import { Counter } from 'prom-client';
import { AppError } from '../../http/errors/app-error';

const outcomes: Partial<Record<string, string>> = {
  'auth.invalid_credentials': 'failed',
  'auth.ip_not_allowed': 'address_rejected',
  'auth.scope_exceeded': 'failed',
  'auth.invalid_second_factor': 'second_factor_failed',
  'auth.passkey_unknown': 'second_factor_failed',
  'auth.challenge_invalid': 'challenge_invalid',
  'auth.too_many_attempts': 'locked',
  'service.overloaded': 'overloaded',
};

/**
 * Logins by outcome. A login in two steps counts twice: as `challenged`, and with the outcome of
 * the second step.
 */
export const logins = new Counter({
  name: 'carrier_identity_logins_total',
  help:
    'Logins by outcome: succeeded, challenged, failed, second_factor_failed, challenge_invalid, address_rejected, ' +
    'locked, overloaded or error',
  labelNames: ['outcome'] as const,
});
for (const outcome of ['succeeded', 'challenged', ...Object.values(outcomes), 'error']) logins.inc({ outcome }, 0);

/** Runs a login, or a step of it, and counts its outcome. */
export async function countOutcome<Result extends object>(login: () => Promise<Result>): Promise<Result> {
  try {
    const result = await login();
    logins.inc({ outcome: 'challenge' in result ? 'challenged' : 'succeeded' });
    return result;
  } catch (error) {
    logins.inc({ outcome: (error instanceof AppError && outcomes[error.code]) || 'error' });
    throw error;
  }
}

/** Lockouts after wrong passwords. Each further wrong password after the first lockout counts. */
export const lockouts = new Counter({
  name: 'carrier_identity_lockouts_total',
  help: 'Lockouts after wrong passwords, including those that extend an earlier one; lockouts of codes are not counted',
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
