import { queryOptions } from '@tanstack/react-query';
import { api, dataOf, type Schema } from '../../api/client';
import { changed } from '../../api/stale';

/** A second factor of the user. */
export type Factor = Schema<'FactorResponse'>;
/** A kind of second factor. */
export type FactorKind = Factor['kind'];
/** Called with the name of the new factor and the recovery codes, if any. */
export type Added = (name: string, codes: string[] | undefined) => Promise<void>;

/** Returns the query of the user's own second factors. */
export const factorsQuery = () =>
  queryOptions({
    queryKey: ['factors', 'own'],
    queryFn: ({ signal }) => dataOf(api.GET('/auth/factor/list', { signal })),
  });

/** Renames a second factor. */
export async function renameFactor(factor_id: string, name: string): Promise<void> {
  await api.PATCH('/auth/factor/{factor_id}', { params: { path: { factor_id } }, body: { name } });
  await changed('factors');
}

/** Removes a second factor. */
export async function removeFactor(factor_id: string): Promise<void> {
  await api.DELETE('/auth/factor/{factor_id}', { params: { path: { factor_id } } });
  await changed('factors');
}

/** Replaces the recovery codes, and returns the new codes. */
export async function renewRecoveryCodes(): Promise<string[]> {
  const { recovery_codes } = await dataOf(api.POST('/auth/factor/recovery-codes'));
  await changed('factors');
  return recovery_codes;
}
