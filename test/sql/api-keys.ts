import { apiKeyList } from '../../src/access/api-keys/api-key-list';
import { ApiKeysRepository } from '../../src/access/api-keys/api-keys.repository';
import { listQuery } from '../support/contract/list-queries';
import { hash, limited, other_id, sqlExamples, user_id } from '../support/contract/sql-examples';

export const apiKeys = sqlExamples(ApiKeysRepository, {
  findActive: [[hash]],
  findActiveById: [[other_id]],
  touch: [[other_id, '192.0.2.1', false]],
  hasPortalWithin: [['203.0.113.0/24']],
  insert: [
    [
      {
        key_id: other_id,
        name: 'billing',
        token_hash: hash,
        permissions: ['user:read'],
        user_type: 'system',
        carrier_id: null,
        carrier_scope: null,
        created_by: user_id,
        expires_at: new Date('2027-01-01T00:00:00Z'),
      },
      other_id,
    ],
  ],
  find: [[other_id, limited]],
  list: [[limited, listQuery(apiKeyList, { active: 'true', permission: 'user:read', order_by: 'last_used_at' })]],
  listReceived: [[user_id]],
  rotate: [[{ key_id: other_id, token_hash: hash, expires_at: null, rotated_by: user_id }, 86_400, other_id]],
  suspend: [[[other_id]]],
  suspendAll: [[]],
  resume: [[other_id, user_id]],
  revoke: [[other_id, user_id]],
});
