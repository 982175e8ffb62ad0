import { Inject, Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { type Caller, isRestricted, type UserType } from '../../access/actor';
import { isLimited, ownAudience, type TokenGrant } from '../../access/token-grant';
import { clockToleranceSeconds, currentTime, secondsOf, secondsUntil } from '../../platform/clock';
import { invalid } from '../../http/errors/app-error';
import { newId } from '../../platform/random';
import { CONFIG, type Config, serviceUrl } from '../../platform/config/config';
import { Notifications } from '../../platform/database/notifications.service';
import type { LoginResponse } from '../auth.dto';
import type { CompletedLogin } from '../login/login-completion.service';
import { SigningKeysService } from '../signing-keys/signing-keys.service';
import type { UserResponse } from '../../users/users.dto';
import type { RefreshCookie } from './refresh-cookie';

/** Claims of an access token (RFC 9068): ids and technical values only. */
export interface AccessTokenClaims {
  iss: string;
  aud: string | string[];
  sub: string;
  sid: string;
  jti: string;
  iat: number;
  exp: number;
  user_type: UserType;
  /** absent in limited tokens, which contain permissions instead */
  roles?: string[];
  permissions?: string[];
  carrier_id?: string;
  /** authentication methods of the session (RFC 8176); absent in tokens of older releases */
  amr?: string[];
  /** time of the authentication in seconds since 1970; absent in tokens of older releases */
  auth_time?: number;
}

/** The user, the session and the limits of a token. */
export interface TokenLogin {
  user: Pick<UserResponse, 'user_id' | 'user_type' | 'roles' | 'carrier_id'> & Parameters<typeof isRestricted>[0];
  session: { session_id: string; amr: string[]; auth_time: Date };
  /** limits of the token; null = none */
  grant: TokenGrant | null;
  /** permissions within the grant */
  permissions: string[];
}

/** A new access token and a new refresh token, as fields of a response. */
export type TokenPair = Omit<LoginResponse, 'session_id' | 'user'>;

/** Signs access tokens, and builds responses with new tokens. `VerifiedTokens` verifies them. */
@Injectable()
export class AccessTokens {
  /** options of every verification */
  readonly rules: { algorithms: ['ES256']; issuer: string; audience: [string, ...string[]]; clockTolerance: number };

  constructor(
    private readonly jwt: JwtService,
    private readonly signingKeys: SigningKeysService,
    private readonly notifications: Notifications,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.rules = {
      algorithms: ['ES256'],
      issuer: serviceUrl(config),
      audience: [ownAudience, ...config.TOKEN_AUDIENCES],
      clockTolerance: clockToleranceSeconds,
    };
  }

  /**
   * Signs an access token for a session, and returns it as fields of a response.
   * The token contains no roles and no permissions while the user is restricted.
   */
  sign({ user, session, grant, permissions }: TokenLogin): Omit<TokenPair, 'refresh_token' | 'refresh_expires_in'> {
    const { user_id, user_type, carrier_id, roles } = user;
    const { session_id, amr, auth_time } = session;
    const { kid, private_key } = this.signingKeys.signingKey();
    const expires_in = this.config.ACCESS_TOKEN_TTL_SECONDS;
    const iat = secondsOf(currentTime());
    const times = { jti: newId(), iat, exp: iat + expires_in };
    const rights = isRestricted(user) ? { roles: [], permissions: [] } : { roles, permissions };
    const claims = {
      iss: this.rules.issuer,
      aud: grant?.audience ?? ownAudience,
      sub: user_id,
      client_id: grant?.client_id ?? ownAudience,
      sid: session_id,
      ...times,
      user_type,
      ...(isLimited(grant) ? { permissions: rights.permissions } : { roles: rights.roles }),
      ...(carrier_id === null ? {} : { carrier_id }),
      amr,
      auth_time: secondsOf(auth_time),
    };
    const header = { alg: 'ES256' as const, typ: 'at+jwt', kid };
    // Pass a KeyObject: jsonwebtoken would parse a PEM string on each call.
    const access_token = this.jwt.sign(claims, { privateKey: private_key as never, algorithm: 'ES256', header });
    return { access_token, token_type: 'Bearer', expires_in };
  }

  /**
   * Signs an access token, and returns it with a new refresh token as fields of a response.
   * @param cookie receives the refresh token; null = the response contains it
   */
  signPair(
    login: TokenLogin,
    { refresh_token, expires_at }: { refresh_token: string; expires_at: Date },
    cookie: RefreshCookie | null,
  ): TokenPair {
    const refresh_expires_in = secondsUntil(expires_at.getTime() / 1_000);
    const access = this.sign(login);
    if (cookie === null) return { ...access, refresh_token, refresh_expires_in };
    cookie.write(refresh_token, refresh_expires_in);
    return { ...access, refresh_expires_in };
  }

  /**
   * Returns the response of a login, with the tokens of its session. Waits until this instance
   * rejects the sessions that the new session replaced.
   * @param cookie receives the refresh token; null = the response contains it
   */
  async respond(login: CompletedLogin, cookie: RefreshCookie | null): Promise<LoginResponse> {
    if (login.ended > 0) await this.notifications.caughtUp();
    const pair = this.signPair({ ...login, session: login }, login, cookie);
    return { ...pair, session_id: login.session_id, user: login.user };
  }

  /** Adds the limits that a request asks for. @throws request.invalid for an unknown audience */
  limited(caller: Caller, { audience, permissions }: TokenGrant): Caller {
    const detail = 'must contain only carrier-platform and names of TOKEN_AUDIENCES';
    if (audience?.every((name) => this.rules.audience.includes(name)) === false)
      throw invalid({ pointer: '/audience', code: 'field.not_allowed', detail });
    const asked = { ...(audience && { audience }), ...(permissions && { permissions }) };
    return isLimited(asked) ? { ...caller, asked } : caller;
  }
}
