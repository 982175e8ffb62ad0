import { userTypes } from '../actor';
import type { ListSpec } from '../../http/lists/list-query';

/** Filters and sort fields of API key lists. */
export const apiKeyList: ListSpec = {
  name: 'keys',
  filter: {
    selects: 'api_key',
    fields: {
      key_id: { type: 'uuid', meaning: 'Id of the key' },
      name: { type: 'text', meaning: 'Name' },
      permission: { type: 'text', operators: ['eq', 'in'], meaning: 'Permission that the key lists by name' },
      user_type: { type: 'text', values: userTypes, meaning: 'User type of the creator' },
      carrier_id: { type: 'text', nullable: true, meaning: 'Carrier that the key belongs to' },
      active: { type: 'boolean', meaning: 'Whether the key is active: neither expired, suspended nor revoked' },
      created_at: { type: 'time', meaning: 'Time of creation' },
      created_by: { type: 'uuid', meaning: 'User who created the key' },
      expires_at: { type: 'time', meaning: 'Time of expiry' },
      last_used_at: { type: 'time', nullable: true, meaning: 'Time of the last use, to the minute' },
      last_used_ip: { type: 'address', nullable: true, meaning: 'IP address of the last use (address or CIDR)' },
      revoked_at: { type: 'time', nullable: true, meaning: 'Time of revocation' },
      revoked_by: { type: 'uuid', nullable: true, meaning: 'User or key that revoked the key' },
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
