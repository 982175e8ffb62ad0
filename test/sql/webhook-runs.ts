import { nilId } from '../../src/audit/changes/change-cursors';
import { type ClaimedWebhook, WebhookRunsRepository } from '../../src/webhooks/webhook-runs.repository';
import { hash, other_id, sqlExamples, user_id } from '../support/contract/sql-examples';

const place = { tx: '700', event_id: nilId, at: new Date(0) };
const webhook: ClaimedWebhook = {
  webhook_id: other_id,
  url: 'https://billing.example.net/identity',
  type_in: [],
  carrier_scope: null,
  include_values: false,
  created_by: user_id,
  updated_at: new Date(0),
  state: 'active',
  secret: hash,
  old_secret: null,
  place_tx: '700',
  place_id: nilId,
  place_at: new Date(0),
  failures: 0,
  claimed_by: user_id,
  is_due: true,
  failing_seconds: 0,
};
const attempt = {
  delivery_id: user_id,
  change_id: user_id,
  type: 'user.changed',
  status: 200,
  error: null,
  duration_ms: 12,
  request: '{}',
  response: '',
};

export const webhookRuns = sqlExamples(WebhookRunsRepository, {
  claim: [[{ active: 50, failing: 50 }]],
  listWaiting: [[other_id]],
  recordChange: [
    [webhook, place, attempt, null],
    [webhook, place, attempt, 5],
  ],
  recordRequested: [[webhook, attempt]],
  renew: [[webhook]],
  release: [[webhook], [webhook, place]],
  count: [[]],
  removeOld: [[7, 10_000, 5_000]],
});
