import { keepPreviousData, queryOptions, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, dataOf, type QueryOf, type Schema } from '../api/client';
import { changed } from '../api/stale';

/** A bulk change, an undo or an import, with its progress. */
export type Operation = Schema<'OperationResponse'>;

/** Polling interval while a list contains operations that have not ended, in milliseconds. */
const pollListEveryMs = 3_000;

/** Returns the query of a page of operations. */
export const operationsQuery = (query: QueryOf<'listOperations'>) =>
  queryOptions({
    queryKey: ['operations', 'list', query],
    queryFn: ({ signal }) => dataOf(api.GET('/user/operation/list', { params: { query }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.items.some(({ finished_at }) => finished_at === null) === true ? pollListEveryMs : false,
  });

/** Returns the query of a page of the rows that an import skipped. */
export const skippedRowsQuery = ({ operation_id, skipped_count }: Operation, query: QueryOf<'listSkippedRows'>) =>
  queryOptions({
    queryKey: ['operations', 'skipped', operation_id, skipped_count, query],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET('/user/operation/{operation_id}/skipped', { params: { path: { operation_id }, query }, signal }),
      ) as Promise<Schema<'SkippedRowListResponse'>>,
    placeholderData: keepPreviousData,
  });

/** Polling interval while the operation has not ended, in milliseconds. */
const pollEveryMs = 1_000;

/** Returns the query of an operation. Polls until the operation has ended. */
export function useOperation(operation_id: string): UseQueryResult<Operation> {
  const result = useQuery({
    queryKey: ['operations', 'one', operation_id],
    queryFn: ({ signal }) =>
      dataOf(api.GET('/user/operation/{operation_id}', { params: { path: { operation_id } }, signal })),
    refetchInterval: ({ state }) => (state.data?.finished_at === null ? pollEveryMs : false),
  });
  const hasEnded = result.data !== undefined && result.data.finished_at !== null;
  useEffect(() => {
    if (hasEnded) void changed('operations');
  }, [hasEnded]);
  return result;
}
