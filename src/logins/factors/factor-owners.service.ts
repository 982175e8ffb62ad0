import { Injectable } from '@nestjs/common';
import type { Actor } from '../../access/actor';
import { AppError } from '../../common/errors/app-error';
import { eventBase } from '../../events/events.service';
import { SessionsService } from '../../sessions/sessions.service';
import { LoginChallengesRepository } from '../login-challenges.repository';
import { type FactorOwner, FactorOwnersRepository } from './factor-owners.repository';

export type { FactorOwner } from './factor-owners.repository';

/** Locks the user of a change of factors, ends the user's other logins, and records resets. */
@Injectable()
export class FactorOwnersService {
  constructor(
    private readonly owners: FactorOwnersRepository,
    private readonly challenges: LoginChallengesRepository,
    private readonly sessions: SessionsService,
  ) {}

  /**
   * Locks the actor's own user. Changes of the factors of a user, and logins, run one after the
   * other. The session of the actor may have ended while the request waited, for example by a
   * password reset.
   * @throws auth.token_invalid
   */
  async lock({ user_id, session_id }: Actor): Promise<FactorOwner> {
    const locked = await this.owners.lock(user_id);
    // A separate statement: the statement that waits for a lock does not see later changes.
    const owner = locked ? await this.owners.findOwner(user_id, session_id) : null;
    if (owner === null) throw new AppError('auth.token_invalid');
    return owner;
  }

  /** Ends the unfinished logins of a user: a factor changed after the first step (M4). */
  async endChallenges(user_id: string): Promise<void> {
    await this.challenges.endOf([user_id]);
  }

  /** Ends the sessions and the unfinished logins of users, except the session of the actor. */
  async endLogins(actor: Actor, user_ids: string[]): Promise<void> {
    await this.challenges.endOf(user_ids);
    await this.sessions.endOf(actor, user_ids, 'factors_changed', actor.session_id);
  }

  /** Records that the factors of users were reset. @param kinds kinds of the factors, by user */
  async recordResets(actor: Actor, kinds: Map<string, string[]>, operation_id: string | null): Promise<void> {
    const resets = [...kinds].map(([user_id, before]) => ({ user_id, changes: { kinds: { before, after: [] } } }));
    await this.owners.recordResets(eventBase(actor, 'factor.reset', { operation_id }), resets);
  }
}
