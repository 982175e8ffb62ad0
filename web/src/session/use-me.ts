import { useSuspenseQuery } from '@tanstack/react-query';
import { api, dataOf, type Schema } from '../api/client';

/** The logged-in user and their permissions. */
export interface Me {
  user: Schema<'CurrentUserResponse'>;
  /** Returns whether the user has a permission, such as `user:update`. */
  can: (permission: string) => boolean;
  /** Returns whether the user has at least one of the permissions. */
  canAny: (permissions: readonly string[]) => boolean;
}

/** Key of the query for the logged-in user. */
export const meKey = ['me'] as const;

/** Reads the logged-in user. */
export function readMe(): Promise<Me['user']> {
  return dataOf(api.GET('/user'));
}

/** Returns the logged-in user. Suspends until the user is loaded. */
export function useMe(): Me {
  const { data: user } = useSuspenseQuery({ queryKey: meKey, queryFn: readMe });
  const can = (permission: string) => user.permissions.includes('*') || user.permissions.includes(permission);
  return { user, can, canAny: (permissions) => permissions.some(can) };
}
