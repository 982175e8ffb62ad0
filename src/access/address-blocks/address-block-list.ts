import type { ListSpec } from '../../http/lists/list-query';

/** Filters and sort fields of lists of address blocks. */
export const addressBlockList: ListSpec = {
  name: 'address_blocks',
  filter: {
    selects: 'address_block',
    fields: {
      address_block_id: { type: 'uuid', meaning: 'Id of the block' },
      network: { type: 'address', meaning: 'Blocked network (the blocks within an address or CIDR)' },
      created_at: { type: 'time', meaning: 'Time of creation' },
      created_by: { type: 'uuid', meaning: 'User or API key that created the block' },
      expires_at: { type: 'time', meaning: 'End of the block' },
    },
  },
  sorts: { created_at: { type: 'time' }, expires_at: { type: 'time' } },
  defaultSort: 'created_at',
};
