import { useQuery } from '@tanstack/react-query';
import { useMe } from '../session/use-me';
import { userNamesQuery } from './data';

/** Maximum number of names. */
const namesMax = 200;

/** Returns the names of users by id. Users that the caller may not see are absent. */
export function useUserNames(ids: readonly (string | null)[]): Record<string, string> {
  const { can } = useMe();
  const wanted = [...new Set(ids.filter((id) => id !== null))].sort().slice(0, namesMax);
  const { data } = useQuery({
    ...userNamesQuery(wanted, can('user:read_deleted')),
    enabled: wanted.length > 0 && can('user:read'),
  });
  return data ?? {};
}
