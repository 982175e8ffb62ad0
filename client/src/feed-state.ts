import { type IdentityError, isUnavailable } from './errors.js';
import { follow } from './follow.js';
import { sleep } from './transport.js';
import type { Change, Identity } from './types.js';

const ends = new Set<string>(['session.ended', 'session.token_reused']);
/** Events about users that change neither what a user may do nor a session. */
const harmless = new Set<string>([
  ...['user.created', 'user.invited', 'user.unlocked', 'mail.retried', 'password.reset_requested'],
  ...['factor.renamed', 'factor.recovery_code_used', 'factor.recovery_codes_renewed'],
]);
/** Fields of users that tokens and permissions depend on. */
const relevant = new Set<string>([
  ...['status', 'roles', 'carrier_scope', 'allowed_ips', 'carrier_id', 'must_change_password'],
  'second_factor_required_from',
]);

/** Settings of the state that a verifier keeps from the change feed. */
export interface FeedStateOptions {
  /** seconds without a response after which the state counts as behind */
  maxDelay: number;
  /** seconds for which changes are kept */
  retention: number;
  /** maximum number of users, and of sessions, that are kept */
  capacity: number;
  onError: (error: unknown) => void;
}

/**
 * What changed since the follower began: ended sessions, changed users and the permissions of
 * roles. Times are those of this machine, in milliseconds.
 */
export class FeedState {
  private readonly endedSessions = new Map<string, number>();
  private readonly changedUsers = new Map<string, number>();
  private roles = new Map<string, string[]>();
  private rolesChangedAt = 0;
  /** Changes before this time are not known. */
  private knownSince = Infinity;
  private currentUntil = 0;
  private readonly stopping = new AbortController();

  constructor(
    private readonly identity: Identity,
    private readonly options: FeedStateOptions,
  ) {
    void this.run();
  }

  /** Whether the feed responded within `maxDelay`, and no transaction holds it back. */
  isCurrent(): boolean {
    return Date.now() < this.currentUntil;
  }

  /** Whether a session has ended. */
  hasEnded(session_id: string): boolean {
    return this.endedSessions.has(session_id);
  }

  /** Returns the time of the last change that can affect tokens of a user. */
  changedAt(user_id: string): number {
    const forgotten = Date.now() - this.options.retention * 1_000;
    return Math.max(this.knownSince, this.rolesChangedAt, forgotten, this.changedUsers.get(user_id) ?? 0);
  }

  /** Returns the permissions of roles, or undefined if a role is unknown. */
  permissionsOf(roles: string[]): string[] | undefined {
    const permissions = roles.map((role) => this.roles.get(role));
    return permissions.includes(undefined) ? undefined : [...new Set(permissions.flat() as string[])];
  }

  /** Number of users and sessions that are kept. */
  get size(): number {
    return this.endedSessions.size + this.changedUsers.size;
  }

  /** Stops following the feed. */
  stop(): void {
    this.stopping.abort();
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted)
      try {
        await this.followFeed(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.currentUntil = 0;
        this.options.onError(error);
        await sleep(isUnavailable(error) ? 1_000 : 10_000, signal).catch(() => undefined);
      }
  }

  /** Begins at the end of the feed. `verifier` checks older tokens with the service. */
  private async followFeed(signal: AbortSignal): Promise<void> {
    this.knownSince = Infinity;
    const wait = Math.max(1, Math.floor(this.options.maxDelay / 2));
    const { onError } = this.options;
    const report = (error: IdentityError) => onError(error);
    const after = await this.endOfFeed(signal);
    const since = Date.now();
    await this.readRoles(signal);
    const options = { after, wait, interval: 250, per_page: 1_000, signal, onError: report };
    for await (const { items, behind_seconds } of follow(this.identity, options)) {
      for (const change of items) this.apply(change);
      if (items.some(({ target_type }) => target_type === 'role')) await this.readRoles(signal);
      if (behind_seconds > this.options.maxDelay) continue;
      if (this.knownSince === Infinity) this.knownSince = since;
      this.currentUntil = Date.now() + this.options.maxDelay * 1_000;
    }
  }

  private async endOfFeed(signal: AbortSignal): Promise<string> {
    return (await this.identity.users.list({ per_page: 1, count: 'none' }, { signal })).changes_cursor;
  }

  private async readRoles(signal: AbortSignal): Promise<void> {
    const { items } = await this.identity.roles.list({ signal });
    this.roles = new Map(items.map(({ name, permissions }) => [name, permissions]));
  }

  private apply({ type, target_type, target_id, fields }: Change): void {
    if (target_type === 'role') this.rolesChangedAt = Date.now();
    if (ends.has(type)) this.remember(this.endedSessions, target_id);
    if (target_type !== 'user' || harmless.has(type)) return;
    if (type === 'user.changed' && !fields.some((field) => relevant.has(field))) return;
    this.remember(this.changedUsers, target_id);
  }

  /** Drops entries older than `retention`, and the oldest entries beyond `capacity`. */
  private remember(times: Map<string, number>, id: string): void {
    const now = Date.now();
    times.delete(id);
    times.set(id, now);
    for (const [oldest, time] of times) {
      const isFull = times.size > this.options.capacity;
      if (!isFull && time > now - this.options.retention * 1_000) return;
      times.delete(oldest);
      if (isFull) this.knownSince = Math.max(this.knownSince, time);
    }
  }
}
