import { Injectable } from '@nestjs/common';
import { type Actor, selfOf } from '../access/actor';
import { type RateLimit, RateLimitsService } from './rate-limits.service';

const limit: RateLimit = { name: 'self-changes', max: 60, window_seconds: 3_600 };
const reached = 'Too many changes of your own user in an hour.';

/**
 * Limits the recorded changes of users to their own user: 60 of each kind in an hour (B34). Kinds
 * count apart, so that a thief of a session cannot keep the owner from a new password. API keys
 * count as their creator.
 */
@Injectable()
export class SelfChangeLimitService {
  constructor(private readonly limits: RateLimitsService) {}

  /** Rejects a change of the own user before it starts. @throws request.rate_limited */
  async assertOpen(actor: Actor, user_id: string, kind: string): Promise<void> {
    if (selfOf(actor) === user_id) await this.limits.assertBelow(limit, `${kind} ${user_id}`, reached);
  }

  /**
   * Counts a change of the own user in the transaction of the change.
   * @throws request.rate_limited if parallel requests have reached the limit
   */
  async count(actor: Actor, user_id: string, kind: string): Promise<void> {
    if (selfOf(actor) === user_id) await this.limits.demand(limit, `${kind} ${user_id}`, reached);
  }
}
