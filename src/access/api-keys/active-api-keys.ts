import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { ActiveApiKey } from '../actor';
import { monotonicMs } from '../../platform/clock';
import { shareOf } from '../../platform/instance';
import { Notifications } from '../../platform/database/notifications.service';
import { type ActiveApiKeyRecord, ApiKeysRepository } from './api-keys.repository';

const keysMax = shareOf(1_000);
/** Lifetime of an entry, the same as for cached logins. The next read also records the use. */
const lifetimeMs = 60_000;

/**
 * Cache of active API keys, valid while notifications arrive (ADR 0010).
 * Entries are stored by the hash of the key, so a memory dump contains no key.
 */
@Injectable()
export class ActiveApiKeys {
  private readonly byHash = new LRUCache<string, { key: ActiveApiKey; validUntil: number }>({ max: keysMax });
  /** number of invalidations; a row that was read before the last one must not be cached */
  private invalidations = 0;

  constructor(
    private readonly apiKeys: ApiKeysRepository,
    private readonly notifications: Notifications,
  ) {
    const invalidate = () => {
      this.invalidations++;
      this.byHash.clear();
    };
    notifications.on('keys_changed', invalidate);
    notifications.onGap(invalidate);
  }

  /**
   * Returns the active key with a hash, or null.
   * @throws service.database_unavailable if the server may be an old primary
   * @param onRead called after the key is read from the database, at least once per minute of use
   */
  async find(token_hash: Buffer, onRead: (key: ActiveApiKeyRecord) => void): Promise<ActiveApiKey | null> {
    const hash = token_hash.toString('base64');
    const cached = this.notifications.isCurrent ? this.byHash.get(hash) : undefined;
    const readAt = monotonicMs();
    if (cached !== undefined && readAt < cached.validUntil) return cached.key;
    await this.notifications.assertLease();
    const { invalidations } = this;
    const key = await this.apiKeys.findActive(token_hash);
    if (key === null) return null;
    if (invalidations === this.invalidations)
      this.byHash.set(hash, { key, validUntil: readAt + Math.min(key.expires_in_ms, lifetimeMs) });
    onRead(key);
    return key;
  }

  /** Drops a key from the cache, so that its next use reads the database. */
  drop(token_hash: Buffer): void {
    this.byHash.delete(token_hash.toString('base64'));
  }
}
