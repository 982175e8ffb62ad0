import { useSuspenseQuery } from '@tanstack/react-query';
import type { Schema } from '../api/client';
import { meQuery } from './data';

/** The logged-in user and their permissions. */
export interface Me {
  user: Schema<'CurrentUserResponse'>;
  /** Returns whether the user has a permission, such as `user:update`. */
  can: (permission: string) => boolean;
  /** Returns whether the user has at least one of the permissions. */
  canAny: (permissions: readonly string[]) => boolean;
}

/** Returns the logged-in user. Suspends until the user is loaded. */
export function useMe(): Me {
  const { data: user } = useSuspenseQuery(meQuery());
  const can = (permission: string) => user.permissions.includes('*') || user.permissions.includes(permission);
  return { user, can, canAny: (permissions) => permissions.some(can) };
}
