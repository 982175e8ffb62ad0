import { useQuery } from '@tanstack/react-query';
import { listUsers } from '../api/list-users';
import { useMe } from '../session/use-me';

/** Users per request. */
const usersMax = 100;

/** Returns the names of users by id. Users that the caller may not see are absent. */
export function useUserNames(ids: readonly (string | null)[]): Record<string, string> {
  const { can } = useMe();
  const wanted = [...new Set(ids.filter((id) => id !== null))].sort().slice(0, 2 * usersMax);
  const { data } = useQuery({
    queryKey: ['users', 'names', wanted],
    queryFn: async ({ signal }) => {
      const names = await namesOf(wanted, false, signal);
      const missing = wanted.filter((id) => names[id] === undefined);
      return can('user:read_deleted') ? { ...names, ...(await namesOf(missing, true, signal)) } : names;
    },
    enabled: wanted.length > 0 && can('user:read'),
    staleTime: 60_000,
    placeholderData: (previous) => previous,
  });
  return data ?? {};
}

async function namesOf(ids: string[], deleted: boolean, signal: AbortSignal): Promise<Record<string, string>> {
  const names: Record<string, string> = {};
  for (let start = 0; start < ids.length; start += usersMax) {
    const user_id_in = ids.slice(start, start + usersMax);
    const query = { user_id_in, per_page: usersMax, count: 'none' as const };
    const { items } = await listUsers(deleted ? { ...query, deleted: 'true' as const } : query, signal);
    for (const { user_id, name } of items) names[user_id] = name;
  }
  return names;
}
