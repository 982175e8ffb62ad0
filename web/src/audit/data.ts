import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { api, dataOf, type QueryOf, type Schema } from '../api/client';
import { useMe } from '../session/use-me';
import { useUserNames } from '../users/use-user-names';

/** An event of the API. */
export type AuditEvent = Schema<'EventResponse'>;
/** Names of users and API keys by id. */
export type Names = Record<string, string>;
/** Query of a list of events. */
export type AuditQuery = QueryOf<'listEvents'>;

/** Reads a page of events. */
export function readEvents(query: AuditQuery, signal: AbortSignal): Promise<Schema<'AuditListResponse'>> {
  return dataOf(api.GET('/audit/list', { params: { query }, signal }));
}

/** Returns the query of a page of events. */
export const eventsQuery = (query: AuditQuery) =>
  queryOptions({
    queryKey: ['audit', 'list', query],
    queryFn: ({ signal }) => readEvents(query, signal),
    placeholderData: keepPreviousData,
  });

/** API keys per request. */
const keysMax = 100;

/** Returns the names of the users and API keys that events or a filter name, by id. */
export function useNames(events: readonly AuditEvent[], filtered: readonly string[]): Names {
  const { can } = useMe();
  const users = useUserNames([...filtered, ...events.flatMap(usersOf)]);
  const ids = [...new Set([...filtered, ...events.flatMap(keysOf)])].sort().slice(0, keysMax);
  const query = { key_id_in: ids, per_page: keysMax, count: 'none' as const };
  const { data: keys } = useQuery({
    queryKey: ['api-keys', 'names', ids],
    queryFn: ({ signal }) => dataOf(api.GET('/auth/key/list', { params: { query }, signal })),
    enabled: ids.length > 0 && can('key:manage'),
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });
  return { ...users, ...Object.fromEntries((keys?.items ?? []).map(({ key_id, name }) => [key_id, name])) };
}

/** Returns the ids of the users that an event names. */
function usersOf({ actor_type, actor_id, target_type, target_id, changes }: AuditEvent): (string | null)[] {
  const ofTarget = target_type === 'user' || target_type === 'login' ? target_id : null;
  return [actor_type === 'user' ? actor_id : null, ofTarget, recordedIn(changes, 'user_id')];
}

/** Returns the ids of the API keys that an event names. */
function keysOf({ actor_type, actor_id, target_type, target_id }: AuditEvent): string[] {
  return [actor_type === 'key' ? actor_id : null, target_type === 'key' ? target_id : null].filter((id) => id !== null);
}

/** Returns a text that an event records in its changes, such as the user of an ended session. */
export function recordedIn(changes: AuditEvent['changes'], key: string): string | null {
  const { before, after } = (changes as Record<string, { before?: unknown; after?: unknown } | undefined>)[key] ?? {};
  const value = after ?? before;
  return typeof value === 'string' ? value : null;
}
