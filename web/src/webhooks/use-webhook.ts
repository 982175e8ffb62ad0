import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { api, dataOf, type Schema } from '../api/client';
import { uuidPattern } from '../api/ids';

/** A webhook, without its secret. */
export type Webhook = Schema<'WebhookResponse'>;

/** How often pages ask what webhooks have done, in milliseconds. */
export const refreshMs = 5_000;

/** Reads a webhook. */
export function readWebhook(webhook_id: string, signal?: AbortSignal): Promise<Webhook> {
  return dataOf(api.GET('/webhook/{webhook_id}', { params: { path: { webhook_id } }, signal: signal ?? null }));
}

/** Returns the query of a webhook. Does nothing unless the id is a UUID. */
export function useWebhook(webhook_id: string): UseQueryResult<Webhook> {
  return useQuery({
    queryKey: ['webhooks', 'one', webhook_id],
    queryFn: ({ signal }) => readWebhook(webhook_id, signal),
    enabled: uuidPattern.test(webhook_id),
    refetchInterval: refreshMs,
  });
}
