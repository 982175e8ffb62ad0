import type { LiveLogin } from '../logins/live-logins.service';
import { isRestricted } from '../access/actor';
import { secondsUntil } from '../common/clock';
import type { SessionResponse } from '../sessions/sessions.dto';
import type { AccessTokens } from './access-tokens';
import type { RefreshCookie } from './refresh-cookie';

/** A new access token, as fields of a response. */
export interface AccessTokenFields {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
}

/** A new access token and a new refresh token, as fields of a response. */
export interface TokenPairFields extends AccessTokenFields {
  /** absent if the refresh token is a cookie */
  refresh_token?: string;
  refresh_expires_in: number;
}

/** The user, the session and the limits of a token. */
export interface TokenLogin extends Pick<LiveLogin, 'user' | 'grant' | 'permissions'> {
  session: Pick<SessionResponse, 'session_id' | 'amr' | 'auth_time'>;
}

/** A new refresh token, and the time at which its session ends unless it is refreshed. */
interface NewRefreshToken {
  refresh_token: string;
  expires_at: Date;
}

/**
 * Signs an access token for a session and returns it as fields of a response.
 * The token contains no roles and no permissions while the user is restricted.
 */
export function newAccessToken(tokens: AccessTokens, login: TokenLogin): AccessTokenFields {
  const { user_id, user_type, carrier_id, roles } = login.user;
  const { session_id, amr, auth_time } = login.session;
  const { grant, permissions } = login;
  const rights = isRestricted(login.user) ? { roles: [], permissions: [] } : { roles, permissions };
  return {
    ...tokens.sign({ user_id, session_id, user_type, ...rights, grant, carrier_id, amr, auth_time }),
    token_type: 'Bearer',
  };
}

/**
 * Signs an access token and returns it with a newly issued refresh token, as response fields.
 * If there is a cookie, writes the refresh token to the cookie instead.
 */
export function newTokenPair(
  tokens: AccessTokens,
  login: TokenLogin,
  { refresh_token, expires_at }: NewRefreshToken,
  cookie: RefreshCookie | null,
): TokenPairFields {
  const refresh_expires_in = secondsUntil(expires_at.getTime() / 1_000);
  const access = newAccessToken(tokens, login);
  if (cookie === null) return { ...access, refresh_token, refresh_expires_in };
  cookie.write(refresh_token, refresh_expires_in);
  return { ...access, refresh_expires_in };
}
