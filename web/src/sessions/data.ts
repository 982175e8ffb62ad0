import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, dataOf, type QueryOf } from '../api/client';
import { changed } from '../api/stale';

/** Query of a list of sessions. */
export type SessionFilter = QueryOf<'listSessions'>;

/** Returns the query of a page of sessions. */
export const sessionsQuery = (query: SessionFilter) =>
  queryOptions({
    queryKey: ['sessions', 'list', query],
    queryFn: ({ signal }) => dataOf(api.GET('/auth/session/list', { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });

/**
 * Returns the query of the number of live sessions that match a filter, except the current session.
 * The number does not change while its dialog is open.
 */
export const endableCountQuery = (filter: SessionFilter, user_id: string) =>
  queryOptions({
    queryKey: ['sessions', 'endable', filter],
    queryFn: async ({ signal }) => {
      const list = (query: SessionFilter) => dataOf(api.GET('/auth/session/list', { params: { query }, signal }));
      const own = await list({ user_id, active: true, per_page: 100, count: 'none' });
      const current = own.items.find((session) => session.current)?.session_id;
      const matching: SessionFilter = { ...filter, active: true, per_page: 1, count: 'exact' };
      const { total } = await list(current === undefined ? matching : { session_id_ne: current, ...matching });
      return total?.value ?? 0;
    },
    staleTime: 'static',
    gcTime: 0,
  });

/** Ends a session. */
export async function endSession(session_id: string): Promise<void> {
  await api.DELETE('/auth/session/{session_id}', { params: { path: { session_id } } });
  await changed('sessions');
}

/**
 * Ends all sessions that match a filter except the current session, by default all of the caller.
 * Returns their number.
 */
export async function endSessions(query: SessionFilter = {}): Promise<number> {
  const { ended } = await dataOf(api.DELETE('/auth/session/all', { params: { query } }));
  await changed('sessions');
  return ended;
}
