import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client';
import { takeFirstUser } from './first-answers';

/** Returns the query of the logged-in user. */
export const meQuery = () =>
  queryOptions({
    queryKey: ['me'],
    queryFn: async ({ signal }) => (await takeFirstUser()) ?? dataOf(api.GET('/user', { signal })),
  });
