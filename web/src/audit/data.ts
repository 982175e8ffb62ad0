import { infiniteQueryOptions, keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { apiKeysQuery } from '../api-keys/data';
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

/** Events per page of the history of a user. */
const historyPage = 25;

/** Returns the query of the events about a user, newest first. */
export const historyQuery = (target_id: string) =>
  infiniteQueryOptions({
    queryKey: ['audit', 'of', target_id],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam: cursor, signal }) =>
      readEvents({ target_id, per_page: historyPage, ...(cursor === null ? {} : { cursor }) }, signal),
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });

/** API keys per request. */
const keysMax = 100;

/** Returns the names of the users and API keys that events or a filter name, by id. */
export function useNames(events: readonly AuditEvent[], filtered: readonly string[]): Names {
  const { can } = useMe();
  const users = useUserNames([...filtered, ...events.flatMap(usersOf)]);
  const ids = [...new Set([...filtered, ...events.flatMap(keysOf)])].sort().slice(0, keysMax);
  const { data: keys } = useQuery({
    ...apiKeysQuery({ key_id_in: ids, per_page: keysMax, count: 'none' }),
    enabled: ids.length > 0 && can('key:manage'),
    staleTime: 60_000,
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
