import type { Scope } from '../access/scope';
import { visibleTo } from '../access/scope.sql';
import { isChange } from '../audit/changes/changes.sql';
import type { ListSql } from '../http/lists/page';
import { rawSql, sql, type SqlFragment } from '../http/lists/sql';
import { deliveryList, webhookList } from './webhook-list';

/**
 * Renders which webhooks a scope shows: those of Carrier Users within the scope. A System User who
 * is limited to carriers sees no webhooks of other System Users.
 */
export function visibleWebhooks(scope: Scope): SqlFragment {
  return visibleTo(scope, {
    user_id: 'webhooks.created_by',
    user_type: 'webhooks.user_type',
    carrier_id: 'webhooks.carrier_id',
  });
}

/** Renders the age in seconds of the oldest change that a webhook has to send, or null. */
export const secondsBehind = sql`(
    select extract(epoch from now() - events.occurred_at)
    from events
    where ${isChange} and (events.tx, events.event_id) > (webhooks.place_tx::xid8, webhooks.place_id)
    order by events.tx, events.event_id
    limit 1
  )`;

/** Renders webhook lists. */
export const webhookListSql: ListSql = {
  list: webhookList,
  filter: { spec: webhookList.filter, table: 'webhooks' },
  from: rawSql('webhooks'),
  id: 'webhooks.webhook_id',
};

const failed = rawSql('(deliveries.attempted_at is not null and deliveries.status between 200 and 299 is not true)');

/** Renders the deliveries of a webhook. */
export const deliveryListSql: ListSql = {
  list: deliveryList,
  filter: {
    spec: deliveryList.filter,
    table: 'deliveries',
    fields: { failed: { equals: (value) => sql`${failed} = ${value}::boolean` } },
  },
  from: rawSql('webhook_deliveries deliveries'),
  id: 'deliveries.delivery_id',
};
