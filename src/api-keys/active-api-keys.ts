import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { ActiveApiKey } from '../access/actor';
import { monotonicMs } from '../common/clock';
import { Notifications } from '../database/notifications.service';
import { type ActiveApiKeyRecord, ApiKeysRepository } from './api-keys.repository';

const keysMax = 1_000;
/** As long as for logins: after that the use of a key is worth noting, too. */
const ageMaxMs = 60_000;

/**
 * Keys that work, answered from memory while nothing can have changed, as logins are (ADR 0010). By
 * their hash: memory that is dumped holds no key.
 */
@Injectable()
export class ActiveApiKeys {
  private readonly byHash = new LRUCache<string, { key: ActiveApiKey; believedUntil: number }>({ max: keysMax });
  /** counts what may have changed keys: what was read before is not kept after */
  private changes = 0;

  constructor(
    private readonly apiKeys: ApiKeysRepository,
    private readonly notifications: Notifications,
  ) {
    const forgetAll = () => {
      this.changes++;
      this.byHash.clear();
    };
    notifications.on('keys_changed', forgetAll);
    notifications.onGap(forgetAll);
  }

  /**
   * The key with a hash, or null when it does not work. @param read called with a key that comes
   * from the database, once a minute while it is used
   */
  async find(token_hash: Buffer, read: (key: ActiveApiKeyRecord) => void): Promise<ActiveApiKey | null> {
    const name = token_hash.toString('base64');
    const known = this.notifications.isCurrent ? this.byHash.get(name) : undefined;
    const askedAt = monotonicMs();
    if (known !== undefined && askedAt < known.believedUntil) return known.key;
    const { changes } = this;
    const key = await this.apiKeys.findActing(token_hash);
    if (key === null) return null;
    if (changes === this.changes)
      this.byHash.set(name, { key, believedUntil: askedAt + Math.min(key.ends_in_ms, ageMaxMs) });
    read(key);
    return key;
  }

  /** The next use is read from the database again. */
  forget(token_hash: Buffer): void {
    this.byHash.delete(token_hash.toString('base64'));
  }
}
