import { Injectable } from '@nestjs/common';
import { type Actor, type Caller, systemActorFor } from '../access/actor';
import { AppError, invalid } from '../common/errors/app-error';
import { CredentialsService } from '../credentials/credentials.service';
import { Notifications } from '../database/notifications.service';
import { type OpenedSession, SessionsService } from '../sessions/sessions.service';
import { UserPasswordsService } from '../users/user-passwords.service';
import type { VerifiedLogin } from '../logins/user-attempts.service';
import type { UserResponse } from '../users/users.dto';
import { AccessTokens } from './access-tokens';
import type { LoginRequest, LoginResponse } from './auth.dto';
import { newTokenPair } from './token-response';
import { PasswordChecksService } from '../logins/password-checks.service';

interface OpenedLogin {
  answer: LoginResponse;
  /** number of sessions that were ended because the user had too many */
  ended: number;
}

/** Logging in and out. */
@Injectable()
export class AuthService {
  constructor(
    private readonly passwords: PasswordChecksService,
    private readonly logins: UserPasswordsService,
    private readonly credentials: CredentialsService,
    private readonly sessions: SessionsService,
    private readonly notifications: Notifications,
    private readonly tokens: AccessTokens,
  ) {}

  /**
   * Logs in.
   * An unknown user, a disabled user, an invited user and a wrong password get the same response
   * after the same hash work (OWASP ASVS 6.3.8, L19).
   * If the login replaces the stored hash and the current policy rejects the password, the user
   * must change the password.
   * @throws auth.invalid_credentials, auth.ip_not_allowed
   * @throws auth.too_many_attempts, service.overloaded
   */
  async login({ login, password }: LoginRequest, caller: Caller): Promise<LoginResponse> {
    const admit = (found: VerifiedLogin) => this.admit(found, password, caller);
    const opened = await this.passwords.verify({ login }, password, systemActorFor(caller), admit);
    if (opened === null) throw new AppError('auth.invalid_credentials');
    // with its place given back: whoever hears of the new session finds those ended that it has
    // replaced
    if (opened.ended > 0) await this.notifications.caughtUp();
    return opened.answer;
  }

  /**
   * Ends the session of an access token, or of a refresh token. @throws auth.token_missing,
   * auth.token_invalid
   */
  async logout(access_token: string | null, refresh_token: string | undefined, caller: Caller): Promise<void> {
    const session_id = await this.sessionToEnd(access_token, refresh_token);
    await this.sessions.endCurrent(caller, session_id);
  }

  /**
   * Verifies one's own password before a sensitive change. The change must hold on to what is
   * returned: a reset that comes in between must win. @throws auth.wrong_current_password,
   * auth.too_many_attempts, service.overloaded
   */
  async verifyOwn(actor: Actor, password: string): Promise<UserResponse> {
    const { user_id } = actor;
    const verified = await this.passwords.verify({ user_id }, password, actor, async ({ user, attempt }) => {
      await this.passwords.pass(attempt);
      return user;
    });
    if (verified === null) throw new AppError('auth.wrong_current_password');
    return verified;
  }

  /**
   * Sets the password of the actor. Ends all other sessions of the actor and voids the mailed
   * links.
   * @throws auth.wrong_current_password, auth.too_many_attempts
   * @throws request.invalid, request.rate_limited
   */
  async changePassword(actor: Actor, current_password: string, new_password: string): Promise<void> {
    const verified = await this.verifyOwn(actor, current_password);
    const pointer = '/new_password';
    // eslint-disable-next-line house/secret-compares -- the caller sent both
    if (new_password === current_password)
      throw invalid({ pointer, code: 'password.unchanged', detail: 'must differ from the current one' });
    await this.credentials.checkNewPassword(new_password, verified, pointer);
    const password_hash = await this.credentials.hashNewPassword(new_password, verified, actor);
    await this.logins.setPassword(actor, actor.user_id, password_hash, {
      event: 'password.changed',
      except_session_id: actor.session_id,
      verified,
    });
  }

  private async admit(found: VerifiedLogin, password: string, caller: Caller): Promise<OpenedLogin> {
    if (found.ip_allowed) return this.open(found, password, caller);
    await this.passwords.refuseAddress(found, systemActorFor(caller));
    throw new AppError('auth.ip_not_allowed');
  }

  private async open(verified: VerifiedLogin, password: string, caller: Caller): Promise<OpenedLogin> {
    const { session_id, refresh_token, statements } = this.sessions.newLogin(verified.user, caller);
    const { password_hash } = verified;
    const demands_change = await this.credentials.mustBeChanged(verified, password, verified.user);
    const actor = systemActorFor(caller);
    const noted = await this.passwords.noteLogin<OpenedSession>(verified, actor, statements, { demands_change });
    if (noted === null) throw new AppError('auth.invalid_credentials');
    await this.credentials.renewHash(verified.user.user_id, password_hash, password);
    const { user, opened } = noted;
    const pair = newTokenPair(this.tokens, user, session_id, { refresh_token, expires_at: opened.expires_at });
    return { answer: { ...pair, session_id, user }, ended: opened.ended };
  }

  private async sessionToEnd(access_token: string | null, refresh_token: string | undefined): Promise<string> {
    const session_id = refresh_token === undefined ? null : this.sessions.sessionOf(refresh_token);
    if (session_id !== null) return session_id;
    if (access_token === null)
      throw new AppError(refresh_token === undefined ? 'auth.token_missing' : 'auth.token_invalid');
    return (await this.tokens.verify(access_token)).sid;
  }
}
