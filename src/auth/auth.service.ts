import { Inject, Injectable } from '@nestjs/common';
import type { Actor, Caller } from '../access/actor';
import { type Admission, singleWrites, workOwnerOf } from '../access/admission';
import { includesOwn } from '../access/token-grant';
import { AppError, invalid } from '../http/errors/app-error';
import { CredentialsService } from './passwords/credentials.service';
import { LoginsService } from './login/logins.service';
import { SessionsService } from './sessions/sessions.service';
import { UserPasswordsService } from '../users/user-passwords.service';
import { AccessTokens } from './tokens/access-tokens';
import type { LoginRequest, LoginResponse, LogoutRequest } from './auth.dto';
import { assertAtMostOne } from './login/only-one';
import type { RefreshCookie } from './tokens/refresh-cookie';
import { VerifiedTokens } from './tokens/verified-tokens';

/** Logs users in and out, and changes their passwords. */
@Injectable()
export class AuthService {
  constructor(
    private readonly logins: LoginsService,
    private readonly passwords: UserPasswordsService,
    private readonly credentials: CredentialsService,
    private readonly sessions: SessionsService,
    private readonly tokens: AccessTokens,
    private readonly verified: VerifiedTokens,
    @Inject(singleWrites) private readonly writes: Admission,
  ) {}

  /**
   * Logs in.
   * An unknown user, a disabled user, an invited user and a wrong password get the same response
   * after the same hash work (OWASP ASVS 6.3.8, L19).
   * If the login replaces the stored hash and the current policy rejects the password, the user
   * must change the password.
   * @throws auth.second_factor_required with the challenge, if the user has a second factor
   * @throws request.invalid, auth.invalid_credentials, auth.ip_not_allowed, auth.scope_exceeded
   * @throws auth.too_many_attempts, service.overloaded
   */
  async login(request: LoginRequest, caller: Caller, cookie: RefreshCookie | null): Promise<LoginResponse> {
    const { login, password } = request;
    const result = await this.logins.login(login, password, this.tokens.limited(caller, request));
    if ('challenge' in result) throw new AppError('auth.second_factor_required', { members: { ...result } });
    return this.tokens.respond(result, cookie);
  }

  /**
   * Ends the session of the refresh token. If that is absent or malformed, ends the session of the
   * access token. With the cookie transport, also removes the cookie.
   * @throws request.invalid, auth.token_missing, auth.token_invalid
   */
  async logout(
    access_token: string | null,
    { transport, refresh_token }: LogoutRequest,
    caller: Caller,
    cookie: RefreshCookie | null,
  ): Promise<void> {
    assertAtMostOne({ transport, refresh_token });
    const session_id = this.sessionToEnd(access_token, cookie === null ? refresh_token : cookie.read());
    await this.sessions.endCurrent(caller, session_id);
    cookie?.remove();
  }

  /**
   * Sets the password of the actor. Ends all other sessions of the actor and voids the mailed
   * links.
   * @throws auth.wrong_current_password, auth.too_many_attempts
   * @throws request.invalid, request.rate_limited
   */
  async changePassword(actor: Actor, current_password: string, new_password: string): Promise<void> {
    const verified = await this.logins.verifyOwn(actor, current_password);
    const pointer = '/new_password';
    // eslint-disable-next-line house/secret-compares -- the caller sent both
    if (new_password === current_password)
      throw invalid({ pointer, code: 'password.unchanged', detail: 'must differ from the current password' });
    const checked = await this.credentials.checkNewPassword(new_password, verified, pointer);
    const password_hash = await this.credentials.hashNewPassword(checked, actor);
    const change = { event: 'password.changed' as const, except_session_id: actor.session_id, verified };
    const set = () => this.passwords.setPassword(actor, actor.user_id, password_hash, change);
    await this.writes.run(workOwnerOf(actor), set);
  }

  private sessionToEnd(access_token: string | null, refresh_token: string | undefined): string {
    const session_id = refresh_token === undefined ? null : this.sessions.sessionOf(refresh_token);
    if (session_id !== null) return session_id;
    if (access_token === null)
      throw new AppError(refresh_token === undefined ? 'auth.token_missing' : 'auth.token_invalid');
    const { aud, sid } = this.verified.claimsOf(access_token);
    if (!includesOwn(aud)) throw new AppError('auth.token_invalid');
    return sid;
  }
}
