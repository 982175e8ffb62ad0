import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, selfOf } from '../../access/actor';
import { assertHolds } from '../../access/permissions';
import { ApiKeysService } from '../../access/api-keys/api-keys.service';
import { AppError, invalid } from '../../http/errors/app-error';
import type { Answered } from '../../platform/times';
import { EventsService } from '../../audit/events.service';
import { UserChangesService } from '../../users/changes/user-changes.service';
import type { UserResponse } from '../../users/users.dto';
import { UsersService } from '../../users/users.service';
import { LoginsRepository } from '../login/logins.repository';
import { LoginAttemptsService } from '../passwords/login-attempts.service';
import { FactorChangesService } from '../second-factors/factor-changes.service';
import type { SecureUserRequest } from './user-secure.dto';

/** Gives accounts back to their owners: lifts lockouts, and secures accounts after a theft. */
@Injectable()
export class UserAccountService {
  constructor(
    private readonly changes: UserChangesService,
    private readonly users: UsersService,
    private readonly factors: FactorChangesService,
    private readonly apiKeys: ApiKeysService,
    private readonly logins: LoginsRepository,
    private readonly attempts: LoginAttemptsService,
    private readonly events: EventsService,
  ) {}

  /**
   * Lifts the lockouts of another user after wrong passwords and wrong codes, at all addresses.
   * A stolen session must not lift the limit on guesses at its own user (M3).
   * @throws user.self_protected, user.not_found, access.protected_user
   */
  @Transactional()
  async unlock(actor: Actor, user_id: string): Promise<void> {
    if (selfOf(actor) === user_id) throw new AppError('user.self_protected');
    const { carrier_id } = await this.users.lock(actor, user_id);
    await this.logins.noteLock(user_id, null);
    await this.attempts.clear(user_id);
    await this.attempts.clearCodes([user_id]);
    await this.events.record(actor, 'user.unlocked', { id: user_id, carrier_id });
  }

  /**
   * Voids the password, the links, the proposed address and the sessions of another user, mails a
   * link to choose a new password, and removes or suspends what the request names (R40).
   * @throws access.denied, request.invalid, user.not_found, access.protected_user
   * @throws user.self_protected, user.last_administrator, access.grant_exceeds_own
   */
  @Transactional()
  async secure(actor: Actor, user_id: string, { factors, keys }: SecureUserRequest): Promise<Answered<UserResponse>> {
    const removes = factors !== undefined && factors !== 'keep' && factors.length > 0;
    // A leaked API key must not remove the second factor that protects a login (M11).
    if (removes && actor.actor_type === 'key')
      throw new AppError('access.denied', { detail: 'API keys cannot remove factors.' });
    if (removes) assertHolds(actor, 'user:reset_factors');
    const { changes } = await this.changes.applyToOne(actor, user_id, { kind: 'change', change: { secure: true } });
    const removed = await this.factors.removeChosen(actor, user_id, factors);
    const received = await this.apiKeys.listReceived(user_id);
    if (received.length > 0 && keys === undefined)
      throw invalid({
        pointer: '/keys',
        code: 'field.required',
        detail: 'is required: the user created or rotated API keys',
      });
    const suspended = keys === 'suspend' ? received : [];
    await this.apiKeys.suspend(actor, suspended);
    const user = await this.users.get(actor, user_id);
    const details = {
      ...changes,
      ...(removed.length > 0 && { factors: { before: removed.map(({ kind, name }) => ({ kind, name })) } }),
      ...(suspended.length > 0 && { keys: { after: suspended.map(({ key_id, name }) => ({ key_id, name })) } }),
    };
    await this.events.record(actor, 'user.secured', { id: user_id, carrier_id: user.carrier_id }, details);
    return user;
  }
}
