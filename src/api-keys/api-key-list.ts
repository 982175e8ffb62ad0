import type { ListSpec } from '../common/query/list-query';

/** Filters and sort fields of API key lists. */
export const apiKeyList: ListSpec = {
  name: 'keys',
  filter: {
    fields: {
      key_id: { type: 'uuid', meaning: 'Id of the key' },
      name: { type: 'text', meaning: 'Name' },
      permission: { type: 'text', operators: ['eq', 'in'], meaning: 'Permission that it has by name' },
      user_type: { type: 'text', values: ['system', 'carrier'], meaning: 'Kind of user that it acts like' },
      carrier_id: { type: 'text', nullable: true, meaning: 'Carrier whose key it is' },
      active: { type: 'boolean', meaning: 'Whether it works' },
      created_at: { type: 'time', meaning: 'When it was made' },
      created_by: { type: 'uuid', meaning: 'Who made it' },
      expires_at: { type: 'time', meaning: 'When it expires' },
      last_used_at: { type: 'time', nullable: true, meaning: 'Last use, to the minute' },
      last_used_ip: { type: 'address', nullable: true, meaning: 'Address of the last use (address or CIDR)' },
      revoked_at: { type: 'time', nullable: true, meaning: 'When it was revoked' },
      revoked_by: { type: 'uuid', nullable: true, meaning: 'Who revoked it' },
    },
  },
  sorts: {
    created_at: { type: 'time' },
    name: { type: 'text' },
    expires_at: { type: 'time' },
    last_used_at: { type: 'time', nullable: true },
  },
  defaultSort: 'created_at',
};
