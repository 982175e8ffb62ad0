import { AddressBlocksRepository } from '../../src/access/address-blocks/address-blocks.repository';
import { addressBlockList } from '../../src/access/address-blocks/address-block-list';
import { listQuery } from '../support/contract/list-queries';
import { other_id, sqlExamples, user_id } from '../support/contract/sql-examples';

const block = {
  address_block_id: other_id,
  network: '203.0.113.0/24',
  reason: null,
  created_by: user_id,
  expires_at: new Date(Date.now() + 3_600_000),
};

export const addressBlocks = sqlExamples(AddressBlocksRepository, {
  listNetworks: [[]],
  findEnd: [['203.0.113.7']],
  list: [[listQuery(addressBlockList, { network: '203.0.113.0/24' })]],
  isFull: [[]],
  insert: [[block]],
  delete: [[other_id]],
  removeExpired: [[]],
});
