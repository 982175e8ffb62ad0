import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useEffect } from 'react';
import { api, dataOf, type Schema } from '../api/client';
import { changed } from '../api/stale';

/** A bulk change, an undo or an import, with its progress. */
export type Operation = Schema<'OperationResponse'>;

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
