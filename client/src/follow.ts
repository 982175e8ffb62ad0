import { IdentityError } from './errors.js';
import { sleep } from './transport.js';
import type { ChangePage, FollowOptions, Identity } from './types.js';

const longestBackoffMs = 30_000;
/** Pause after an empty page that arrived immediately. */
const scanMs = 100;

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
  // The first request does not wait, so that the caller soon learns where the feed ends.
  let isFirst = true;
  for (let failures = 0; ;) {
    const startedAt = performance.now();
    const isWaiting = waits && !isFirst;
    let page: ChangePage;
    try {
      const parameters = { ...query, ...(after !== undefined && { after }), ...(isWaiting && { wait }) };
      const limits = { timeout: (wait + 10) * 1_000, ...(signal && { signal }) };
      page = await identity.changes.list(parameters, limits);
      failures = 0;
    } catch (error) {
      if (!(error instanceof IdentityError)) throw error;
      if (isWaiting && error.errors.some(({ parameter }) => parameter === 'wait')) {
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
    isFirst = false;
    after = page.next_cursor;
    yield page;
    if (page.items.length > 0 || performance.now() - startedAt > interval) continue;
    // With a filter, an empty page is not always the end of the feed.
    await sleep(isWaiting || page.behind_seconds > 0 ? Math.min(interval, scanMs) : interval, signal);
  }
}
