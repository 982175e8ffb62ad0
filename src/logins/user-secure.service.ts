import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Actor } from '../access/actor';
import { assertHolds } from '../access/permissions';
import { ApiKeysService } from '../api-keys/api-keys.service';
import { AppError, invalid } from '../common/errors/app-error';
import type { Answered } from '../common/times';
import { EventsService } from '../events/events.service';
import { UserChangesService } from '../users/user-changes.service';
import type { UserResponse } from '../users/users.dto';
import { UsersService } from '../users/users.service';
import { FactorChangesService } from './factors/factor-changes.service';
import type { SecureUserRequest } from './user-secure.dto';

/** Secures the accounts of users whose password another person may know (R40). */
@Injectable()
export class UserSecureService {
  constructor(
    private readonly changes: UserChangesService,
    private readonly users: UsersService,
    private readonly factors: FactorChangesService,
    private readonly apiKeys: ApiKeysService,
    private readonly events: EventsService,
  ) {}

  /**
   * Voids the password, the links, the proposed address and the sessions of another user, mails a
   * link to choose a new password, and removes or suspends what the request names.
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
    const created = await this.apiKeys.listCreated(user_id);
    if (created.length > 0 && keys === undefined)
      throw invalid({ pointer: '/keys', code: 'field.required', detail: 'is required: the user created API keys' });
    const suspended = keys === 'suspend' ? created : [];
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
