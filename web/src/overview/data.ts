import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client';

// The service counts at most once a minute.
const refreshMs = 60_000;

/** Returns the query of the figures of the overview. */
export const overviewQuery = () =>
  queryOptions({
    queryKey: ['overview'],
    queryFn: ({ signal }) => dataOf(api.GET('/stats/overview', { signal })),
    refetchInterval: refreshMs,
  });
