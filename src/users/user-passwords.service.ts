import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, systemActor } from '../access/actor';
import { AppError } from '../http/errors/app-error';
import type { Answered } from '../platform/times';
import { CredentialsService } from '../auth/passwords/credentials.service';
import { LoginAttemptsService } from '../auth/passwords/login-attempts.service';
import { EventsService } from '../audit/events.service';
import type { ChangesOf } from '../audit/event-catalogue';
import type { MailFacts } from '../platform/mail/mail-name';
import { SessionsService } from '../auth/sessions/sessions.service';
import { UserMailsService } from './mails/user-mails.service';
import { toUserResponse, type UserResponse } from './users.dto';
import { UsersRepository } from './users.repository';

/** How a password changes. */
export interface PasswordChange {
  event: 'password.changed' | 'password.reset';
  /** session to keep; all others end */
  except_session_id?: string | null;
  /** address that the owner proved by following a mailed link; null = a shown link or no link */
  proven_email?: string | null;
  /** whether the proven address becomes the address of the user again */
  restores?: boolean;
  /** further changes in the event, and API keys that the mail names */
  changes?: ChangesOf<'password.reset'>;
  keys?: NonNullable<MailFacts['keys']>;
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
   * Sets a password, ends the sessions and drops a proposed address. Notifies the user of a changed
   * password. A reset voids the other links. A change with the current password does not: the owner
   * of the mailbox wins over a thief who knows the password (R30).
   * @throws user.email_taken if the address cannot be restored
   * @throws reset.token_invalid if a reset comes too late: the user was disabled or deleted
   * @throws auth.token_invalid if a change comes too late
   */
  @Transactional()
  async setPassword(
    actor: Actor,
    user_id: string,
    password_hash: string,
    { event, except_session_id = null, first = false, keys = [], changes = {}, ...note }: PasswordChange,
  ): Promise<void> {
    const { proven_email = null, verified = null, restores = false } = note;
    const isReset = event === 'password.reset';
    const user = await this.users.notePassword(user_id, proven_email, verified, restores);
    if (user === null) throw new AppError(isReset ? 'reset.token_invalid' : 'auth.token_invalid');
    await this.credentials.setPassword(user_id, password_hash, false);
    if (isReset) await this.attempts.clear(user_id);
    if (isReset) await this.credentials.voidTokens([user_id], undefined, proven_email || null);
    else await this.credentials.recordChange(user_id);
    await this.mails.cancelLinks([user_id], isReset);
    await this.sessions.endOf(actor, [user_id], 'password_changed', except_session_id);
    await this.events.record(actor, event, { id: user_id, carrier_id: user.carrier_id }, changes);
    if (!first) await this.mails.passwordChanged(user_id, actor, keys);
  }

  /**
   * Replaces the address of a user by the confirmed address. Voids the links to the older address,
   * except the one that undoes the change.
   * @throws email.token_invalid if the address is no longer proposed
   * @throws user.email_taken
   */
  async confirmEmail(actor: Actor, user_id: string, email: string): Promise<void> {
    const before = await this.find(user_id);
    const user = await this.users.confirmEmail(user_id, email);
    if (before === null || user === null) throw new AppError('email.token_invalid');
    await this.credentials.voidTokens([user_id], ['reset', 'email']);
    await this.events.record(
      actor,
      'user.email_confirmed',
      { id: user_id, carrier_id: user.carrier_id },
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
