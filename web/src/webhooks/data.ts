import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, dataOf, type QueryOf, type Schema } from '../api/client';
import { changed } from '../api/stale';

/** A webhook, without its secret. */
export type Webhook = Schema<'WebhookResponse'>;
/** The settings of a webhook. */
export type WebhookSettings = Required<Schema<'CreateWebhookRequest'>>;
/** A new webhook, with the secret that is shown once. */
export type CreatedWebhook = Schema<'WebhookSecretResponse'>;
/** A request of a webhook, and its response. */
export type Delivery = Schema<'WebhookDeliveryResponse'>;

/** How often pages ask what webhooks have done, in milliseconds. */
const refreshMs = 5_000;

/** Returns the query of a page of webhooks. */
export const webhooksQuery = (query: QueryOf<'listWebhooks'>) =>
  queryOptions({
    queryKey: ['webhooks', 'list', query],
    queryFn: ({ signal }) => dataOf(api.GET('/webhook/list', { params: { query }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  });

/** Returns the query of a webhook. */
export const webhookQuery = (webhook_id: string) =>
  queryOptions({
    queryKey: ['webhooks', 'one', webhook_id],
    queryFn: ({ signal }) => dataOf(api.GET('/webhook/{webhook_id}', { params: pathOf(webhook_id), signal })),
    refetchInterval: refreshMs,
  });

/** Returns the query of a page of the requests of a webhook. */
export const deliveriesQuery = (webhook_id: string, query: QueryOf<'listDeliveries'>) =>
  queryOptions({
    queryKey: ['webhooks', 'deliveries', webhook_id, query],
    queryFn: ({ signal }) =>
      dataOf(api.GET('/webhook/{webhook_id}/delivery/list', { params: { ...pathOf(webhook_id), query }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
  });

const pathOf = (webhook_id: string) => ({ path: { webhook_id } });

/** Sends a change of webhooks, and reloads what the page shows of them. */
async function change<Result>(request: Promise<Result>): Promise<Result> {
  const result = await request;
  await changed('webhooks');
  return result;
}

/** Reads a webhook. */
export function readWebhook(webhook_id: string): Promise<Webhook> {
  return dataOf(api.GET('/webhook/{webhook_id}', { params: pathOf(webhook_id) }));
}

/** Creates a webhook. The response contains its secret. The form then calls `changed`. */
export function createWebhook(body: WebhookSettings): Promise<CreatedWebhook> {
  return dataOf(api.POST('/webhook/create', { body }));
}

/** Changes settings of a webhook. The form then calls `changed`. */
export function changeWebhook(webhook_id: string, body: Partial<WebhookSettings>): Promise<Webhook> {
  return dataOf(api.PATCH('/webhook/{webhook_id}', { params: pathOf(webhook_id), body }));
}

/** Sends a request of a webhook once more. */
export function retryDelivery(webhook_id: string, delivery_id: string): Promise<unknown> {
  const path = { webhook_id, delivery_id };
  return change(api.POST('/webhook/{webhook_id}/delivery/{delivery_id}/retry', { params: { path } }));
}

/** Returns the actions on a webhook. */
export const webhookActions = (webhook_id: string) => {
  const params = pathOf(webhook_id);
  return {
    test: () => change(api.POST('/webhook/{webhook_id}/test', { params })),
    skip: () => change(api.POST('/webhook/{webhook_id}/skip', { params })),
    disable: () => change(api.POST('/webhook/{webhook_id}/disable', { params })),
    /** Deletes the webhook. The caller leaves its page, and then calls `changed`. */
    remove: () => api.DELETE('/webhook/{webhook_id}', { params }),
    enable: (body: { after?: string }) => change(api.POST('/webhook/{webhook_id}/enable', { params, body })),
    replay: (after: string) => change(api.POST('/webhook/{webhook_id}/replay', { params, body: { after } })),
    /** Replaces the secret, and returns the new one. Both sign requests for some seconds. */
    rotate: async (keep_old_seconds: number) => {
      const body = { keep_old_seconds };
      return (await change(dataOf(api.POST('/webhook/{webhook_id}/rotate-secret', { params, body })))).secret;
    },
  };
};
