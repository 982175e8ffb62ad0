import { keepPreviousData, queryOptions, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { api, dataOf, type QueryOf, type Schema } from '../api/client';
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

/** Returns the query of a page of users. */
export const usersQuery = (query: QueryOf<'listUsers'>) =>
  queryOptions({
    queryKey: ['users', 'list', query],
    queryFn: ({ signal }) => listUsers(query, signal),
    placeholderData: keepPreviousData,
  });

/** Returns the query of the second factors of a user. */
export const userFactorsQuery = (user_id: string) =>
  queryOptions({
    queryKey: ['users', 'factors', user_id],
    queryFn: ({ signal }) => dataOf(api.GET('/user/{user_id}/factor/list', { params: { path: { user_id } }, signal })),
  });

/** Returns the query of a page of carriers that have users. */
export const carriersQuery = (query: QueryOf<'listCarriers'>) =>
  queryOptions({
    queryKey: ['carriers', query],
    queryFn: ({ signal }) =>
      dataOf(api.GET('/carrier/list', { params: { query: { ...query, count: 'none' } }, signal })),
  });

/** Users per request for names. */
const namesMax = 100;

/** Returns the query of the names of users by id. Users that the caller may not see are absent. */
export const userNamesQuery = (wanted: string[], mayReadDeleted: boolean) =>
  queryOptions({
    queryKey: ['users', 'names', wanted],
    queryFn: async ({ signal }) => {
      const names = await namesOf(wanted, false, signal);
      const missing = wanted.filter((id) => names[id] === undefined);
      return mayReadDeleted ? { ...names, ...(await namesOf(missing, true, signal)) } : names;
    },
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });

async function namesOf(ids: string[], deleted: boolean, signal: AbortSignal): Promise<Record<string, string>> {
  const names: Record<string, string> = {};
  for (let start = 0; start < ids.length; start += namesMax) {
    const user_id_in = ids.slice(start, start + namesMax);
    const query = { user_id_in, per_page: namesMax, count: 'none' as const };
    const { items } = await listUsers(deleted ? { ...query, deleted: 'true' as const } : query, signal);
    for (const { user_id, name } of items) names[user_id] = name;
  }
  return names;
}

/** Users or API keys that the picker shows at most. */
const pickedMax = 8;

/**
 * Returns the query of users, and of API keys if `keyLabel` is given, by a part of their names.
 * @param keyLabel text beside the names of API keys
 */
export const pickQuery = (q: string, keyLabel: string | undefined) =>
  queryOptions({
    queryKey: ['users', 'pick', q, keyLabel],
    queryFn: async ({ signal }) => {
      const query = { per_page: pickedMax, count: 'none' as const };
      const [users, keys] = await Promise.all([
        listUsers({ ...query, q }, signal),
        keyLabel !== undefined &&
          dataOf(api.GET('/auth/key/list', { params: { query: { ...query, name_like: q } }, signal })),
      ]);
      return [
        ...users.items.map(({ user_id, name, email }) => ({ value: user_id, label: `${name} · ${email}` })),
        ...(keys === false
          ? []
          : keys.items.map(({ key_id, name }) => ({ value: key_id, label: `${name} · ${keyLabel}` }))),
      ];
    },
    placeholderData: keepPreviousData,
  });

const userKey = (user_id: string) => ['users', 'one', user_id] as const;

/** Returns the query of a user. */
export function useUser(user_id: string): UseQueryResult<User> {
  const { can } = useMe();
  return useQuery({ queryKey: userKey(user_id), queryFn: () => readUser(user_id, can('user:read_deleted')) });
}

/** Stores a changed user in the cache, and refreshes everything else about users. */
export async function cacheUser(user: User): Promise<void> {
  queryClient.setQueryData(userKey(user.user_id), user);
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
