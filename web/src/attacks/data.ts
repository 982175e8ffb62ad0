import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { api, dataOf, type QueryOf, type Schema } from '../api/client';
import { changed } from '../api/stale';

/** Networks and users with rejected logins. */
export type Attacks = Schema<'AttacksResponse'>;
/** A blocked network. */
export type AddressBlock = Schema<'AddressBlockResponse'>;

/** The service counts again after this time. */
const refreshMs = 10_000;

/** Reads the rejected logins of the last 24 hours, and again every 10 seconds. */
export function useAttacks(): UseQueryResult<Attacks> {
  return useQuery({
    queryKey: ['attacks'],
    queryFn: ({ signal }) => dataOf(api.GET('/stats/attacks', { signal })),
    refetchInterval: refreshMs,
  });
}

/** Reads one page of the blocks. */
export function useAddressBlocks(
  query: QueryOf<'listAddressBlocks'>,
): UseQueryResult<Schema<'AddressBlockListResponse'>> {
  return useQuery({
    queryKey: ['address-blocks', 'list', query],
    queryFn: ({ signal }) => dataOf(api.GET('/address-block/list', { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });
}

/** Blocks a network, and returns it as the service writes it. */
export async function blockNetwork(body: Schema<'CreateAddressBlockRequest'>): Promise<string> {
  const { network } = await dataOf(api.POST('/address-block/create', { body }));
  void changed('address-blocks');
  return network;
}

/** Removes a block. */
export async function removeBlock(address_block_id: string): Promise<void> {
  await api.DELETE('/address-block/{address_block_id}', { params: { path: { address_block_id } } });
  void changed('address-blocks');
}
