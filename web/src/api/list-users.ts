import { api, dataOf, type QueryOf, type Schema } from './client';

/** A page of users with all fields. */
export type UserPage = Omit<Schema<'UserListResponse'>, 'items'> & { items: Schema<'UserResponse'>[] };

/**
 * Lists users. Deleted users have all fields only with `user:read_deleted`, without which the
 * console does not ask for them.
 */
export async function listUsers(query: QueryOf<'listUsers'>, signal?: AbortSignal): Promise<UserPage> {
  const params = { query };
  return (await dataOf(api.GET('/user/list', { params, ...(signal === undefined ? {} : { signal }) }))) as UserPage;
}
