import { monotonicMs } from '../common/clock';
import { AppError } from '../common/errors/app-error';
import type { Actor } from './actor';

/** Returns whether an actor authenticated recently. API keys and the service are exempt. */
export function isFresh({ fresh_until }: Actor): boolean {
  return fresh_until === null || monotonicMs() < fresh_until;
}

/**
 * Rejects an actor whose last authentication is older than `FRESH_AUTH_SECONDS`: a stolen session
 * alone must not take over the service (S24, E2, RFC 9470).
 * @throws auth.reauthentication_required
 */
export function assertFresh(actor: Actor): void {
  if (!isFresh(actor)) throw new AppError('auth.reauthentication_required');
}
