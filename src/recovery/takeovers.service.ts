import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { ApiKeysService } from '../api-keys/api-keys.service';
import type { LiveToken } from '../credentials/credentials.service';
import { FactorsService } from '../credentials/factors/factors.service';
import { EventsService } from '../events/events.service';

/** Removes or lists the keys and factors of a thief. Call it in the transaction of a reset. */
@Injectable()
export class TakeoversService {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly factors: FactorsService,
    private readonly events: EventsService,
  ) {}

  /**
   * Revokes API keys and removes factors that were added since the first change of a `not_me` link,
   * and voids the recovery codes.
   * Keeps the new factors if the user had older factors and none is left: a mailed link
   * must not replace a second factor (R25).
   */
  async undo(actor: Actor, { user_id, requested_at, factors }: LiveToken, carrier_id: string | null): Promise<void> {
    for (const { key_id, created_at } of await this.apiKeys.listCreated(user_id))
      if (created_at >= requested_at) await this.apiKeys.revoke(actor, key_id);
    const older = new Set(factors);
    const found = (await this.factors.list(user_id)).factors;
    if (older.size > 0 && !found.some(({ factor_id }) => older.has(factor_id))) return;
    await this.factors.voidRecoveryCodes(user_id);
    for (const { factor_id, kind, name } of found.filter((factor) => !older.has(factor.factor_id))) {
      await this.factors.remove(user_id, factor_id);
      const changes = { factor_id: { before: factor_id }, kind: { before: kind }, name: { before: name } };
      await this.events.record(actor, 'factor.removed', { type: 'user', id: user_id, carrier_id }, changes);
    }
  }

  /** Returns the newest 100 API keys that a user created and that still work. */
  async listKeys(user_id: string): Promise<{ key_id: string; name: string }[]> {
    return (await this.apiKeys.listCreated(user_id)).slice(0, 100).map(({ key_id, name }) => ({ key_id, name }));
  }
}
