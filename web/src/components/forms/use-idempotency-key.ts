import { useRef } from 'react';
import { ApiProblem } from '../../api/problems';

/** Sends a form in such a way that a repeated attempt has no second effect. */
export interface Idempotency {
  /**
   * Sends a body with the header `Idempotency-Key`. The key is the same until the API has answered
   * for good, so that a retry after a lost response gets the response of the first attempt. Another
   * body has another key.
   */
  sendOnce: <Result>(body: object, send: (header: { 'Idempotency-Key': string }) => Promise<Result>) => Promise<Result>;
}

/** Returns the idempotency of a form. */
export function useIdempotencyKey(): Idempotency {
  const sent = useRef<{ body: string; key: string } | null>(null);
  return {
    sendOnce: async (body, send) => {
      const text = JSON.stringify(body);
      if (sent.current?.body !== text) sent.current = { body: text, key: newIdempotencyKey() };
      try {
        return await send({ 'Idempotency-Key': sent.current.key });
      } catch (error) {
        if (isFinal(error)) sent.current = null;
        throw error;
      }
    },
  };
}

/** Returns whether the API stores a refusal, so that another attempt needs another key. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof ApiProblem) || error.code === 'idempotency.in_progress') return false;
  return error.status >= 400 && error.status < 500 && error.status !== 401 && error.status !== 429;
}

/** Returns a new idempotency key. Works without HTTPS, unlike `crypto.randomUUID`. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
