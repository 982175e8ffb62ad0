import type { Schema } from '../api/client';

/** An API key, without the key itself. */
export type ApiKey = Schema<'KeyResponse'>;

/** The state of an API key. */
export type ApiKeyStatus = 'active' | 'expiring' | 'expired' | 'suspended' | 'revoked';

/** Keys that expire within this time are marked. */
const soonMs = 14 * 24 * 3_600_000;

/** Returns the state of an API key. */
export function statusOf({ active, revoked_at, suspended_at, expires_at }: ApiKey): ApiKeyStatus {
  if (revoked_at !== null) return 'revoked';
  if (Date.parse(expires_at) <= Date.now()) return 'expired';
  if (suspended_at !== null) return 'suspended';
  if (!active) return 'expired';
  return Date.parse(expires_at) - Date.now() < soonMs ? 'expiring' : 'active';
}
