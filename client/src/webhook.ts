import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Change } from './types.js';

/** A verified webhook. `data` is an entry of the change feed. */
export interface WebhookEvent {
  /** `change_id`: deliveries of the same change have the same id */
  id: string;
  type: string;
  timestamp: string;
  data: Change;
}

/** Thrown for a webhook with a wrong signature, time or form. Respond with 400. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}

/** Headers of a request, from Node, a framework or `fetch`. */
export type HeadersLike = Headers | Record<string, string | string[] | undefined>;

/** Allowed age of a webhook, and difference between clocks. */
const toleranceSeconds = 300;

/**
 * Creates the function that verifies webhooks (Standard Webhooks 1.0).
 * @param secrets `whsec_…`; during a rotation the old and the new one
 */
export function webhook(...secrets: string[]): {
  verify(headers: HeadersLike, body: string | Uint8Array): WebhookEvent;
} {
  if (secrets.length === 0 || secrets.some((secret) => !/^whsec_.{16,}/.test(secret)))
    throw new TypeError('A webhook needs its secret, which begins with whsec_');
  const keys = secrets.map((secret) => Buffer.from(secret.slice('whsec_'.length), 'base64'));
  return {
    /**
     * Verifies the raw body of a request and parses it.
     * @throws WebhookError
     */
    verify(headers, body) {
      const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => header(headers, name));
      if (!id || !timestamp || !signatures) throw new WebhookError('A header of the webhook is missing.');
      if (!(Math.abs(Date.now() / 1_000 - Number(timestamp)) <= toleranceSeconds))
        throw new WebhookError('The webhook is too old, or the clocks differ.');
      const sent = signatures
        .split(' ')
        .flatMap((one) => (one.startsWith('v1,') ? [Buffer.from(one.slice(3), 'base64')] : []));
      const isSigned = keys.some((key) => {
        const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
        return sent.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
      });
      if (!isSigned) throw new WebhookError('The signature of the webhook is wrong.');
      const text = typeof body === 'string' ? body : Buffer.from(body).toString();
      return { id, ...(JSON.parse(text) as Omit<WebhookEvent, 'id'>) };
    },
  };
}

function header(headers: HeadersLike, name: string): string | undefined {
  const value = headers instanceof Headers ? headers.get(`webhook-${name}`) : headers[`webhook-${name}`];
  return typeof value === 'string' ? value : undefined;
}
