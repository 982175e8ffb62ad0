import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, systemActor } from '../access/actor';
import { AppError } from '../common/errors/app-error';
import { CredentialsService } from '../credentials/credentials.service';
import { LoginAttemptsService } from '../credentials/login-attempts.service';
import { EventsService } from '../events/events.service';
import { SessionsService } from '../sessions/sessions.service';
import { UserMailsService } from './user-mails.service';
import { toUserResponse, type UserResponse } from './users.dto';
import { UsersRepository } from './users.repository';

/** What a new password comes from, and what it spares and proves. */
export interface PasswordChange {
  event: 'password.changed' | 'password.reset';
  /** the session that goes on; all others end */
  except_session_id?: string | null;
  /** the address whose owner followed a mailed link */
  proven_email?: string | null;
  /**
   * the state in which the password in force was verified; another one since then = nothing is
   * changed
   */
  verified?: { password_changed_at: Date | null } | null;
}

/**
 * The users as logging in sees them: by name or address, regardless of who asks. For `auth` only;
 * it decides what may be told.
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

  /** The living user with this name or address, or null. */
  async findByLogin(login: string): Promise<UserResponse | null> {
    const user = await this.users.findByLogin(login, systemActor);
    return user === null ? null : toUserResponse(user);
  }

  /**
   * The living user with this name or address, if a role of theirs permits everything; else null.
   */
  async findAdministrator(login: string): Promise<UserResponse | null> {
    const named = await this.users.findByLogin(login, systemActor);
    const user = named === null ? null : await this.users.findAdministrator(named.user_id, systemActor);
    return user === null ? null : toUserResponse(user);
  }

  /** The living user with this id, or null. */
  async find(user_id: string): Promise<UserResponse | null> {
    const user = await this.users.find(user_id, systemActor);
    return user === null ? null : toUserResponse(user);
  }

  /**
   * Puts a new password in force: sessions end, links die, the owner is told. @throws
   * reset.token_invalid when the user may not have one any more
   */
  @Transactional()
  async setPassword(
    actor: Actor,
    user_id: string,
    password_hash: string,
    { event, except_session_id = null, proven_email = null, verified = null }: PasswordChange,
  ): Promise<void> {
    const user = await this.users.notePassword(user_id, proven_email, verified);
    if (user === null) throw new AppError(event === 'password.reset' ? 'reset.token_invalid' : 'auth.token_invalid');
    await this.credentials.setPassword(user_id, password_hash, false);
    if (event === 'password.reset') await this.attempts.clear(user_id);
    await this.mails.cancelLinks(user_id);
    await this.sessions.endOf(actor, [user_id], 'password_changed', except_session_id);
    await this.events.record(actor, event, { type: 'user', id: user_id, carrier_id: user.carrier_id });
    await this.mails.enqueue({ user_id, mail: 'password-changed' });
  }

  /**
   * Puts the proposed address in force. @throws email.token_invalid when it is not the proposed one
   * any more, user.email_taken
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
   * Returns whether there has never been a user. Until the transaction ends, no other instance can
   * create the first one.
   */
  isEmpty(): Promise<boolean> {
    return this.users.isEmpty();
  }
}
