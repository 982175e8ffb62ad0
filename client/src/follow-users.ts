import { IdentityError } from './errors.js';
import { follow } from './follow.js';
import type { FollowOptions, Identity, ListedUser, UserFilters } from './types.js';

/** A part of a copy of the users. Apply it, and store `cursor`, in one transaction. */
export interface UserBatch {
  /** the copy starts over: remove all users first */
  restart: boolean;
  /** users that are new or changed */
  users: ListedUser[];
  /** ids of users that were deleted */
  deleted: string[];
  /** value of `after` for a later start; null while the first copy is incomplete */
  cursor: string | null;
}

/** How to copy users. */
export interface FollowUsersOptions extends Pick<FollowOptions, 'wait' | 'interval' | 'signal' | 'onError'> {
  /** `cursor` of the last batch that was applied; without it, all users are copied first */
  after?: string | null | undefined;
  carrier_id?: string;
}

/**
 * Copies all users and then follows their changes without end. Starts over when the cursor has
 * expired. The key needs `user:read` and `change:read`.
 */
export async function* followUsers(
  identity: Identity,
  { after, carrier_id, ...options }: FollowUsersOptions = {},
): AsyncGenerator<UserBatch, never, void> {
  const filter = carrier_id === undefined ? {} : { carrier_id };
  for (let cursor = after ?? undefined; ; cursor = undefined) {
    cursor ??= yield* copy(identity, filter, options.signal);
    try {
      const feed = {
        ...options,
        ...filter,
        after: cursor,
        target_type: 'user',
        include: 'values',
        per_page: 500,
      } as const;
      for await (const { items, next_cursor } of follow(identity, feed)) {
        const changed = new Map(items.map(({ target_id, values }) => [target_id, values as ListedUser | undefined]));
        const users = [...changed.values()].filter((user) => user !== undefined);
        const deleted = [...changed].flatMap(([id, user]) => (user === undefined ? [id] : []));
        yield { restart: false, users, deleted, cursor: next_cursor };
      }
    } catch (error) {
      if (!(error instanceof IdentityError) || error.code !== 'change.cursor_expired') throw error;
    }
  }
}

async function* copy(
  identity: Identity,
  filter: UserFilters,
  signal?: AbortSignal,
): AsyncGenerator<UserBatch, string, void> {
  let start: string | undefined;
  const query = { ...filter, per_page: 500, count: 'none' as const };
  for await (const page of identity.users.list(query, { ...(signal && { signal }) }).pages()) {
    const restart = start === undefined;
    // The feed continues where the first page was read.
    start ??= page.changes_cursor;
    yield { restart, users: page.items, deleted: [], cursor: page.next_cursor === null ? start : null };
  }
  return start as string;
}
