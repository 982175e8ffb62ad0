import { IdentityError } from './errors.js';
import { sleep } from './transport.js';
import type { ChangePage, FollowOptions, Identity } from './types.js';

const longestBackoffMs = 30_000;

/**
 * Follows the change feed without end, and retries while the service is unavailable.
 * @throws IdentityError such as `change.cursor_expired`, `auth.key_invalid` or `access.denied`
 */
export async function* follow(
  identity: Identity,
  options: FollowOptions = {},
): AsyncGenerator<ChangePage, never, void> {
  const { wait = 25, interval = 1_000, signal, onError, after: start, ...query } = options;
  let after = start;
  let waits = wait > 0;
  for (let failures = 0; ;) {
    const startedAt = performance.now();
    let page: ChangePage;
    try {
      const parameters = { ...query, ...(after !== undefined && { after }), ...(waits && { wait }) };
      const limits = { timeout: (wait + 10) * 1_000, ...(signal && { signal }) };
      page = await identity.changes.list(parameters, limits);
      failures = 0;
    } catch (error) {
      if (!(error instanceof IdentityError)) throw error;
      if (waits && error.errors.some(({ parameter }) => parameter === 'wait')) {
        // An older service without long polls.
        waits = false;
        continue;
      }
      if (!error.unavailable) throw error;
      onError?.(error);
      const backoff = Math.min(interval * 2 ** failures++, longestBackoffMs);
      await sleep(Math.max(backoff, (error.retryAfter ?? 0) * 1_000), signal);
      continue;
    }
    const isEnd = page.items.length === 0 && page.next_cursor === after;
    after = page.next_cursor;
    yield page;
    // Also protects a service that responds at once although it was asked to wait.
    if (isEnd && performance.now() - startedAt < interval) await sleep(interval, signal);
  }
}
