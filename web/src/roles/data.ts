import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, dataOf, type Schema } from '../api/client';
import { listUsers } from '../api/list-users';
import { changed } from '../api/stale';
import { searchMinLength } from '../components/filter/conditions';

/** A role. */
export type Role = Schema<'RoleResponse'>;

/** Users that the page of a role names. */
const shownHolders = 10;
/** Users that a search finds at most. */
const candidatesMax = 100;

/** Returns the query of all roles, sorted by name. */
export const rolesQuery = () =>
  queryOptions({
    queryKey: ['roles', 'list'],
    queryFn: async ({ signal }) => (await dataOf(api.GET('/role/list', { signal }))).items,
  });

/** Returns the query of the number of users in scope who have a role, and of the first of them. */
export const holdersQuery = (role: string) =>
  queryOptions({
    queryKey: ['users', 'holders', role],
    queryFn: ({ signal }) => listUsers({ role, per_page: shownHolders, count: 'exact' }, signal),
  });

/** Returns the query of users who can have a role, and match a search. */
export const candidatesQuery = ({ user_types }: Role, q: string) =>
  queryOptions({
    queryKey: ['users', 'candidates', user_types, q],
    queryFn: ({ signal }) =>
      listUsers(
        {
          ...(q.length < searchMinLength ? {} : { q }),
          ...(user_types.length === 1 ? { user_type: user_types[0] } : {}),
          per_page: candidatesMax,
          count: 'none',
        },
        signal,
      ),
    placeholderData: keepPreviousData,
  });

/** Reads a role. */
export function readRole(role: string): Promise<Role> {
  return dataOf(api.GET('/role/{role}', { params: { path: { role } } }));
}

/**
 * Creates a role. The form then calls `changed`.
 * @param new_prefix whether unknown names of modules are meant
 */
export function createRole(body: Schema<'CreateRoleRequest'>, new_prefix: boolean): Promise<Role> {
  return dataOf(api.POST('/role/create', { params: { query: { new_prefix } }, body }));
}

/**
 * Changes a version of a role. The form then calls `changed`.
 * @throws ApiProblem `role.version_mismatch`
 */
export function changeRole(
  { name, version }: Role,
  body: Schema<'ChangeRoleRequest'>,
  new_prefix: boolean,
): Promise<Role> {
  const params = { path: { role: name }, query: { new_prefix }, header: { 'If-Match': `"${version}"` } };
  return dataOf(api.PATCH('/role/{role}', { params, body }));
}

/** Deletes a version of a role. Reloads the role if that fails. */
export async function deleteRole({ name, version }: Role): Promise<void> {
  const params = { path: { role: name }, header: { 'If-Match': `"${version}"` } };
  try {
    await api.DELETE('/role/{role}', { params });
  } catch (error) {
    // The next attempt deletes the version that the page shows by then.
    await changed('roles');
    throw error;
  }
}

/** Grants a role to users. Returns how many of them did not have it. */
export async function grantRole(role: string, user_id_in: string[]): Promise<number> {
  const params = { query: { user_id_in } };
  const result = await dataOf(api.PATCH('/user/all', { params, body: { roles_add: [role] } }));
  await changed('users');
  return (result as Schema<'BulkResultResponse'>).changed;
}
