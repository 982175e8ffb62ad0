import { nilId } from '../../src/audit/changes/change-cursors';
import { listQuery } from '../support/contract/list-queries';
import { hash, limited, other_id, sqlExamples, user_id } from '../support/contract/sql-examples';
import { deliveryList, webhookList } from '../../src/webhooks/webhook-list';
import { WebhooksRepository } from '../../src/webhooks/webhooks.repository';

const place = { tx: '700', event_id: nilId, at: new Date(0) };
const settings = {
  url: 'https://billing.example.net/identity',
  description: null,
  type_in: ['user.changed'],
  carrier_scope: ['c1'],
  include_values: false,
};

export const webhooks = sqlExamples(WebhooksRepository, {
  insert: [
    [
      {
        webhook_id: other_id,
        ...settings,
        user_type: 'system',
        carrier_id: null,
        created_by: user_id,
        secret: hash,
      },
      place,
      other_id,
      500,
    ],
  ],
  find: [[other_id, limited]],
  lock: [[other_id, limited]],
  list: [[limited, listQuery(webhookList, { state: 'failing' })]],
  update: [[other_id, settings, user_id]],
  disable: [
    [{ webhook_id: other_id }, 'gone'],
    [{ created_by: user_id, since: new Date(0) }, 'not_me'],
  ],
  enable: [
    [other_id, null, user_id],
    [other_id, place, user_id],
  ],
  updateSecret: [[other_id, hash, 60, user_id]],
  findPlace: [[other_id]],
  findLastSent: [[other_id]],
  isIdle: [[other_id]],
  delete: [[other_id]],
  listDeliveries: [[other_id, listQuery(deliveryList, { failed: 'true' })]],
  findDelivery: [[other_id, user_id]],
  insertRequested: [[other_id, user_id, 'test', { change_id: null, type: 'webhook.test', attempt: 1 }]],
  listSecrets: [[]],
  updateEncryption: [[other_id, hash, hash, null]],
});
