import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, systemActor } from '../access/actor';
import { AppError } from '../common/errors/app-error';
import type { Answered } from '../common/times';
import { CredentialsService } from '../credentials/credentials.service';
import { LoginAttemptsService } from '../credentials/login-attempts.service';
import { EventsService } from '../events/events.service';
import { SessionsService } from '../sessions/sessions.service';
import { UserMailsService } from '../user-mails/user-mails.service';
import { toUserResponse, type UserResponse } from './users.dto';
import { UsersRepository } from './users.repository';

/** How a password changes. */
export interface PasswordChange {
  event: 'password.changed' | 'password.reset';
  /** session to keep; all others end */
  except_session_id?: string | null;
  /** address that the owner proved by following a mailed link */
  proven_email?: string | null;
  /** true for the first password of an invited user, who then gets no mail about it */
  first?: boolean;
  /** set if the current password was verified; nothing changes if the password changed since */
  verified?: { password_changed_at: Date | null } | null;
}

/**
 * Sets passwords and confirms e-mail addresses, without checks of permissions or scope. Callers
 * decide what a response may reveal.
 */
@Injectable()
export class UserPasswordsService {
  constructor(
    private readonly users: UsersRepository,
    private readonly credentials: CredentialsService,
    private readonly attempts: LoginAttemptsService,
    private readonly sessions: SessionsService,
    private readonly events: EventsService,
    private readonly mails: UserMailsService,
  ) {}

  /** Returns the user with a name or address, or null. Deleted users are not found. */
  async findByLogin(login: string): Promise<UserResponse | null> {
    const user = await this.users.findByLogin(login, systemActor);
    return user === null ? null : toUserResponse(user);
  }

  /** Returns the user with a name or address and a role with the permission `*`, or null. */
  async findAdministrator(login: string): Promise<UserResponse | null> {
    const named = await this.users.findByLogin(login, systemActor);
    const user = named === null ? null : await this.users.findAdministrator(named.user_id, systemActor);
    return user === null ? null : toUserResponse(user);
  }

  /** Returns the user with an id, or null. Deleted users are not found. */
  async find(user_id: string): Promise<Answered<UserResponse> | null> {
    const user = await this.users.find(user_id, systemActor);
    return user === null ? null : toUserResponse(user);
  }

  /**
   * Sets a password, ends the sessions and voids the mailed links. Notifies the user of a changed
   * password.
   * @throws reset.token_invalid if a reset comes too late: the user was disabled or deleted
   * @throws auth.token_invalid if a change comes too late
   */
  @Transactional()
  async setPassword(
    actor: Actor,
    user_id: string,
    password_hash: string,
    { event, except_session_id = null, proven_email = null, first = false, verified = null }: PasswordChange,
  ): Promise<void> {
    const user = await this.users.notePassword(user_id, proven_email, verified);
    if (user === null) throw new AppError(event === 'password.reset' ? 'reset.token_invalid' : 'auth.token_invalid');
    await this.credentials.setPassword(user_id, password_hash, false);
    if (event === 'password.reset') await this.attempts.clear(user_id);
    await this.mails.cancelLinks(user_id);
    await this.sessions.endOf(actor, [user_id], 'password_changed', except_session_id);
    await this.events.record(actor, event, { type: 'user', id: user_id, carrier_id: user.carrier_id });
    if (!first) await this.mails.passwordChanged(user_id, actor);
  }

  /**
   * Replaces the address of a user by the confirmed address.
   * @throws email.token_invalid if the address is no longer proposed
   * @throws user.email_taken
   */
  async confirmEmail(actor: Actor, user_id: string, email: string): Promise<void> {
    const before = await this.find(user_id);
    const user = await this.users.confirmEmail(user_id, email);
    if (before === null || user === null) throw new AppError('email.token_invalid');
    await this.credentials.voidTokens([user_id]);
    await this.events.record(
      actor,
      'user.email_confirmed',
      { type: 'user', id: user_id, carrier_id: user.carrier_id },
      { email: { before: before.email, after: email } },
    );
  }

  /**
   * Returns whether there is no user, not even a deleted user. Until the transaction ends, no other
   * instance can create the first user.
   */
  isEmpty(): Promise<boolean> {
    return this.users.isEmpty();
  }
}
