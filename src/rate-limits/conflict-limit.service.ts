import { Injectable } from '@nestjs/common';
import { type Actor, identityOf } from '../access/actor';
import { holds } from '../access/permissions';
import { AppError } from '../common/errors/app-error';
import { fromDatabaseError } from '../common/errors/database-error';
import { type RateLimit, RateLimitsService } from './rate-limits.service';

/** Identifies an actor whose conflicts are counted. */
type Prober = Pick<Actor, 'actor_type' | 'user_id' | 'user_type' | 'carrier_scope' | 'permissions'>;

const limit: RateLimit = { name: 'conflicts', max: 1_000, window_seconds: 3_600 };
const conflictCodes: string[] = ['user.name_taken', 'user.email_taken'];

/**
 * Limits how often an actor learns that a name or address is taken: 1,000 times an hour (B25).
 * Names and addresses are unique across carriers, so each conflict may reveal a user outside the
 * actor's scope.
 */
@Injectable()
export class ConflictLimitService {
  constructor(private readonly limits: RateLimitsService) {}

  /**
   * Counts conflicts before they are reported. Returns how many may be reported with their field.
   */
  async count(actor: Prober, conflicts: number): Promise<number> {
    if (conflicts === 0 || seesEveryUser(actor)) return conflicts;
    const { hits } = await this.limits.add(limit, identityOf(actor), conflicts);
    return Math.max(0, conflicts - Math.max(0, hits - limit.max));
  }

  /**
   * Rejects requests that reveal whether a name or address is taken, once the limit is reached.
   * @throws request.rate_limited
   */
  async assertOpen(actor: Prober): Promise<void> {
    if (seesEveryUser(actor)) return;
    const window = await this.limits.find(limit, identityOf(actor));
    if (window === null || window.hits < limit.max) return;
    const seconds = window.seconds_left;
    throw new AppError('request.rate_limited', {
      detail: 'Too many conflicts with names and e-mail addresses of other users. Wait for `Retry-After`.',
      retry_after_seconds: seconds,
      headers: {
        'ratelimit-policy': `"${limit.name}";q=${limit.max};w=${limit.window_seconds}`,
        ratelimit: `"${limit.name}";r=0;t=${seconds}`,
      },
    });
  }

  /**
   * Runs work that fails if a name or address is taken, and counts the failure. Call it outside the
   * work's transaction, because a rollback would undo the count.
   * @throws request.rate_limited once the limit is reached, before the work runs, so that taken and
   * free names get the same response
   */
  async limit<Result>(actor: Prober, work: () => Promise<Result>): Promise<Result> {
    await this.assertOpen(actor);
    try {
      return await work();
    } catch (error) {
      const { code = '' } = (error instanceof AppError ? error : fromDatabaseError(error)) ?? {};
      // Parallel requests may have used up the limit since it was checked.
      if (conflictCodes.includes(code) && (await this.count(actor, 1)) === 0) await this.assertOpen(actor);
      throw error;
    }
  }
}

/** Returns whether the actor can list every user, so that a conflict reveals nothing new. */
function seesEveryUser({ user_type, carrier_scope, permissions }: Prober): boolean {
  return user_type === 'system' && carrier_scope === null && holds(permissions, 'user:read');
}
