import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { api, dataOf, type Schema } from '../api/client';
import { listUsers } from '../api/list-users';
import { isProblem } from '../api/problems';
import { queryClient } from '../api/query-client';
import { changed } from '../api/stale';
import { useMe } from '../session/use-me';

/** A user of the API. */
export type User = Schema<'UserResponse'>;

/** The body of `PATCH /user/{user_id}`. */
export type UserChanges = Schema<'ChangeUserRequest'>;

/** Reads a user. A deleted user is read from the list of deleted users. */
async function readUser(user_id: string, mayReadDeleted: boolean): Promise<User> {
  try {
    return await dataOf(api.GET('/user/{user_id}', { params: { path: { user_id } } }));
  } catch (error) {
    if (!mayReadDeleted || !isProblem(error, 'user.not_found')) throw error;
    const { items } = await listUsers({ deleted: 'true', user_id, count: 'none' });
    if (items[0] === undefined) throw error;
    return items[0];
  }
}

/** Returns the query of a user. */
export function useUser(user_id: string): UseQueryResult<User> {
  const { can } = useMe();
  return useQuery({ queryKey: ['users', 'one', user_id], queryFn: () => readUser(user_id, can('user:read_deleted')) });
}

/** Stores a changed user in the cache, and refreshes everything else about users. */
export async function cacheUser(user: User): Promise<void> {
  queryClient.setQueryData(['users', 'one', user.user_id], user);
  await changed('users');
}

/** Changes a user if the version is current. @throws ApiProblem `user.version_mismatch` */
export function changeUser({ user_id, version }: Pick<User, 'user_id' | 'version'>, body: UserChanges): Promise<User> {
  const params = { path: { user_id }, header: { 'If-Match': `"${version}"` } };
  return dataOf(api.PATCH('/user/{user_id}', { params, body }));
}

/** Returns the first and last name, or null if both are empty. */
export function fullNameOf({ first_name, last_name }: User): string | null {
  return `${first_name} ${last_name}`.trim() || null;
}

/** Returns whether the account is locked after wrong passwords. */
export function isLocked({ locked_until }: User): boolean {
  return locked_until !== null && new Date(locked_until) > new Date();
}
