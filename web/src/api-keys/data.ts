import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, dataOf, type QueryOf, type Schema } from '../api/client';

/** An API key, without the key itself. */
export type ApiKey = Schema<'KeyResponse'>;

/** The state of an API key. */
export type ApiKeyStatus = 'active' | 'expiring' | 'expired' | 'suspended' | 'revoked';

/** Keys that expire within this time are marked. */
const soonMs = 14 * 24 * 3_600_000;

/** Returns the query of a page of API keys. */
export const apiKeysQuery = (query: QueryOf<'listApiKeys'>) =>
  queryOptions({
    queryKey: ['api-keys', 'list', query],
    queryFn: ({ signal }) => dataOf(api.GET('/auth/key/list', { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });

/** Returns the query of an API key, which is undefined if the caller may not see it. */
export const apiKeyQuery = (key_id: string) =>
  queryOptions({
    ...apiKeysQuery({ key_id, count: 'none' }),
    placeholderData: undefined,
    select: ({ items }) => items[0],
  });

/** Returns the state of an API key. */
export function statusOf({ active, revoked_at, suspended_at, expires_at }: ApiKey): ApiKeyStatus {
  if (revoked_at !== null) return 'revoked';
  if (Date.parse(expires_at) <= Date.now()) return 'expired';
  if (suspended_at !== null) return 'suspended';
  if (!active) return 'expired';
  return Date.parse(expires_at) - Date.now() < soonMs ? 'expiring' : 'active';
}
