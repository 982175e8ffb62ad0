import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useMe } from '../session/use-me';
import type { User } from '../users/data';
import { foundUsersQuery } from './data';

const searchAfterMs = 150;

/** The result of a search. */
export interface FoundUsers {
  users: User[];
  /** whether the search is still running */
  isSearching: boolean;
  /** the problem of the search, or null */
  error: unknown;
  /** Searches again. */
  retry: () => void;
}

/** Finds users by name, e-mail address, phone number, user id, or the id of a related request. */
export function useFoundUsers(typed: string): FoundUsers {
  const { can } = useMe();
  const [text] = useDebouncedValue(typed.trim(), searchAfterMs);
  const { data, error, isFetching, refetch } = useQuery({
    ...foundUsersQuery(text, can('audit:read')),
    enabled: text.length > 1 && can('user:read'),
  });
  const hasQuery = typed.trim().length > 1;
  return {
    users: hasQuery ? (data ?? []) : [],
    error: hasQuery ? error : null,
    retry: () => void refetch(),
    isSearching: hasQuery && can('user:read') && (isFetching || text !== typed.trim()),
  };
}
