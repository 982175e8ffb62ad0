import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, selfOf } from '../access/actor';
import { AppError } from '../common/errors/app-error';
import { LoginAttemptsService } from '../credentials/login-attempts.service';
import { EventsService } from '../events/events.service';
import { UsersService } from '../users/users.service';
import { LoginsRepository } from './logins.repository';

/** Lifts the lockouts of users. */
@Injectable()
export class UserUnlockService {
  constructor(
    private readonly users: UsersService,
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
    await this.events.record(actor, 'user.unlocked', { type: 'user', id: user_id, carrier_id });
  }
}
