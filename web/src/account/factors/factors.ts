import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { api, dataOf, type Schema } from '../../api/client';
import { queryClient } from '../../api/query-client';
import { meKey } from '../../session/use-me';

/** A second factor of the user. */
export type Factor = Schema<'FactorResponse'>;
/** A kind of second factor. */
export type FactorKind = Factor['kind'];

const factorsKey = ['factors'] as const;

/** Returns the user's own second factors. */
export function useFactors(): UseQueryResult<Schema<'FactorListResponse'>> {
  return useQuery({
    queryKey: factorsKey,
    queryFn: ({ signal }) => dataOf(api.GET('/auth/factor/list', { signal })),
  });
}

/** Reads the factors again, and the user with the kinds of the factors. */
export async function refreshFactors(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: factorsKey }),
    queryClient.invalidateQueries({ queryKey: meKey }),
  ]);
}

/** Called with the name of the new factor and the recovery codes, if any. */
export type Added = (name: string, codes: string[] | undefined) => Promise<void>;
