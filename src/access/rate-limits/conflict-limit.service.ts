import { Inject, Injectable } from '@nestjs/common';
import { type Actor, selfOf } from '../actor';
import { type Admission, singleWrites, workOwnerOf } from '../admission';
import { holds } from '../permissions';
import type { Scope } from '../scope';
import { AppError } from '../../http/errors/app-error';
import { fromDatabaseError } from '../../http/errors/database-error';
import { type RateLimit, RateLimitsService } from './rate-limits.service';

const limit: RateLimit = {
  name: 'conflicts',
  max: 100,
  window_seconds: 3_600,
  detail: 'Too many conflicts with names and e-mail addresses of other users.',
};
const countPatienceMs = 600_000;
const conflictCodes: string[] = ['user.name_taken', 'user.email_taken'];

/**
 * Limits conflicts with the names and addresses of users that the caller cannot see to 100 an hour
 * (B25). The users and API keys of a carrier count together; without a carrier, a user counts
 * together with the user's API keys (B33). Names and addresses are unique across carriers.
 * Requests that are running when the limit is reached report no further conflict, but their success
 * still shows that a name is free.
 */
@Injectable()
export class ConflictLimitService {
  constructor(
    private readonly limits: RateLimitsService,
    @Inject(singleWrites) private readonly writes: Admission,
  ) {}

  /** Counts conflicts before they are reported. Returns how many may be reported. */
  async count(actor: Actor, conflicts: number): Promise<number> {
    const subject = subjectOf(actor);
    if (conflicts === 0 || subject === null) return conflicts;
    const { hits } = await this.limits.add(limit, subject, conflicts);
    return Math.max(0, conflicts - Math.max(0, hits - limit.max));
  }

  /** Returns whether the actor may learn of further conflicts. */
  async isOpen(actor: Actor): Promise<boolean> {
    const subject = subjectOf(actor);
    return subject === null || ((await this.limits.find(limit, subject))?.hits ?? 0) < limit.max;
  }

  /**
   * Rejects requests that reveal whether a name or address is taken, once the limit is reached.
   * @throws request.rate_limited
   */
  async assertOpen(actor: Actor): Promise<void> {
    await this.limits.assertBelow(limit, subjectOf(actor));
  }

  /**
   * Runs work that fails if a name or address is taken, and counts the failure. Call it outside the
   * work's transaction, because a rollback would undo the count.
   * @param isHidden returns whether the actor cannot see the user who has the name or address
   * @throws request.rate_limited once the limit is reached, before the work runs, so that taken and
   * free names get the same response
   */
  async limit<Result>(
    actor: Actor,
    work: () => Promise<Result>,
    isHidden: (code: string) => Promise<boolean> = () => Promise.resolve(true),
  ): Promise<Result> {
    await this.assertOpen(actor);
    try {
      return await work();
    } catch (error) {
      const { code = '' } = (error instanceof AppError ? error : fromDatabaseError(error)) ?? {};
      // An import of the carrier may hold the counter, so the count must be able to wait. If a full
      // queue rejected it, conflicts would stay uncounted and reveal any number of names.
      const count = () => this.writes.run(workOwnerOf(actor), () => this.count(actor, 1), undefined, countPatienceMs);
      // Parallel requests may have used up the limit since it was checked.
      if (conflictCodes.includes(code) && (await isHidden(code)) && (await count()) === 0) await this.assertOpen(actor);
      throw error;
    }
  }
}

/**
 * Returns the scope of the users that the actor can see, or null if the actor sees none. An
 * unlimited scope shows users only together with `user:read`.
 */
export function visibleScope(actor: Actor): Scope | null {
  return isUnlimited(actor) && !seesEveryUser(actor) ? null : actor;
}

/** Returns whether the actor can list every user, so that a conflict reveals nothing new. */
function seesEveryUser(actor: Actor): boolean {
  return isUnlimited(actor) && holds(actor.permissions, 'user:read');
}

function isUnlimited({ user_type, carrier_scope }: Actor): boolean {
  return user_type === 'system' && carrier_scope === null;
}

/** Returns the counter of an actor, or null if a conflict reveals nothing to the actor. */
function subjectOf(actor: Actor): string | null {
  if (seesEveryUser(actor)) return null;
  return actor.carrier_id === null ? selfOf(actor) : `carrier ${actor.carrier_id}`;
}
