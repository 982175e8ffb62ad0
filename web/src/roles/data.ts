import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, dataOf, type QueryOf, type Schema } from '../api/client';
import { changed } from '../api/stale';

/** A role. */
export type Role = Schema<'RoleResponse'>;

/** Returns the query of all roles, sorted by name. */
export const rolesQuery = () =>
  queryOptions({
    queryKey: ['roles', 'list'],
    queryFn: async ({ signal }) => (await dataOf(api.GET('/role/list', { signal }))).items,
  });

/** Returns the query of the users within the caller's scope who have a role. */
export const holdersQuery = (role: string, query: QueryOf<'listUsers'> = { per_page: 1, count: 'exact' }) =>
  queryOptions({
    queryKey: ['users', 'holders', role, query],
    queryFn: ({ signal }) => dataOf(api.GET('/user/list', { params: { query: { ...query, role } }, signal })),
    placeholderData: keepPreviousData,
  });

/** Reads a role. */
export function readRole(role: string): Promise<Role> {
  return dataOf(api.GET('/role/{role}', { params: { path: { role } } }));
}

/** Creates a role. @param new_prefix whether unknown names of modules are meant */
export async function createRole(body: Schema<'CreateRoleRequest'>, new_prefix: boolean): Promise<Role> {
  const role = await dataOf(api.POST('/role/create', { params: { query: { new_prefix } }, body }));
  await changed('roles');
  return role;
}

/** Changes a version of a role. @throws ApiProblem `role.version_mismatch` */
export async function changeRole(
  role: string,
  version: number,
  body: Schema<'ChangeRoleRequest'>,
  new_prefix: boolean,
): Promise<Role> {
  const params = { path: { role }, query: { new_prefix }, header: { 'If-Match': `"${version}"` } };
  const after = await dataOf(api.PATCH('/role/{role}', { params, body }));
  await changed('roles');
  return after;
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

/** Grants a role to users. */
export async function grantRole(role: string, user_id_in: string[]): Promise<Schema<'BulkResponse'>> {
  const params = { query: { user_id_in } };
  const result = await dataOf(api.PATCH('/user/all', { params, body: { roles_add: [role] } }));
  await changed('users');
  return result;
}
