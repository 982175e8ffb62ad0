import { useSuspenseQuery } from '@tanstack/react-query';
import { api, dataOf, type Schema } from '../api/client';

/** The logged-in user, and what they may do. */
export interface Me {
  user: Schema<'CurrentUserResponse'>;
  /** Returns whether the user has a permission, such as `user:update`. */
  can: (permission: string) => boolean;
}

/** Key of the query for the logged-in user. */
export const meKey = ['me'] as const;

/** Returns the logged-in user. Suspends until it is read. */
export function useMe(): Me {
  const { data: user } = useSuspenseQuery({ queryKey: meKey, queryFn: () => dataOf(api.GET('/user')) });
  return { user, can: (permission) => user.permissions.includes('*') || user.permissions.includes(permission) };
}
