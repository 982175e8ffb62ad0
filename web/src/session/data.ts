import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client';

/** Returns the query of the logged-in user. */
export const meQuery = () =>
  queryOptions({ queryKey: ['me'], queryFn: ({ signal }) => dataOf(api.GET('/user', { signal })) });
