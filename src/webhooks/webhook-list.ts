import type { ListSpec } from '../http/lists/list-query';
import { deliveryKinds } from './webhook-delivery.entity';
import { disabledReasons, webhookStates } from './webhook.entity';

/** Filters and sort fields of webhook lists. */
export const webhookList: ListSpec = {
  name: 'webhooks',
  filter: {
    selects: 'webhook',
    fields: {
      webhook_id: { type: 'uuid', meaning: 'Id of the webhook' },
      url: { type: 'text', meaning: 'Target' },
      state: { type: 'text', values: webhookStates, meaning: 'State' },
      disabled_reason: {
        type: 'text',
        nullable: true,
        values: disabledReasons,
        meaning: 'Why the webhook is disabled; `requested`: by a user',
      },
      created_at: { type: 'time', meaning: 'Time of creation' },
      created_by: { type: 'uuid', meaning: 'User who created the webhook' },
    },
  },
  sorts: { created_at: { type: 'time' } },
  defaultSort: 'created_at',
};

/** Filters and sort fields of the deliveries of a webhook. */
export const deliveryList: ListSpec = {
  name: 'deliveries',
  filter: {
    selects: 'delivery',
    fields: {
      kind: { type: 'text', values: deliveryKinds, meaning: 'Why the request was sent' },
      change_id: { type: 'uuid', nullable: true, meaning: 'Change that was sent' },
      type: { type: 'text', meaning: 'Type of the change' },
      failed: { type: 'boolean', meaning: 'Whether the request was sent without a response of 2xx' },
      created_at: { type: 'time', meaning: 'Time of the attempt or of its request' },
    },
  },
  sorts: { created_at: { type: 'time' } },
  defaultSort: 'created_at',
};
