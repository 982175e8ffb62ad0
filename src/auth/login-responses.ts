import { Injectable } from '@nestjs/common';
import { Notifications } from '../database/notifications.service';
import type { CompletedLogin } from '../logins/login-completion.service';
import { AccessTokens } from './access-tokens';
import type { LoginResponse } from './auth.dto';
import type { RefreshCookie } from './refresh-cookie';
import { newTokenPair } from './token-response';

/** Builds the responses of completed logins. */
@Injectable()
export class LoginResponses {
  constructor(
    private readonly notifications: Notifications,
    private readonly tokens: AccessTokens,
  ) {}

  /**
   * Returns the tokens of a new session. Waits until this instance rejects the sessions that the
   * new session replaced.
   * @param cookie receives the refresh token; null = the response contains it
   */
  async of(login: CompletedLogin, cookie: RefreshCookie | null): Promise<LoginResponse> {
    const { user, refresh_token, expires_at, ended } = login;
    if (ended > 0) await this.notifications.caughtUp();
    const pair = newTokenPair(this.tokens, { ...login, session: login }, { refresh_token, expires_at }, cookie);
    return { ...pair, session_id: login.session_id, user };
  }
}
