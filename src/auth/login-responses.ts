import { Injectable } from '@nestjs/common';
import { Notifications } from '../database/notifications.service';
import type { CompletedLogin } from '../logins/login-completion.service';
import { AccessTokens } from './access-tokens';
import type { LoginResponse } from './auth.dto';
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
   */
  async of({ user, refresh_token, expires_at, ended, ...session }: CompletedLogin): Promise<LoginResponse> {
    if (ended > 0) await this.notifications.caughtUp();
    const pair = newTokenPair(this.tokens, user, session, { refresh_token, expires_at });
    return { ...pair, session_id: session.session_id, user };
  }
}
