import { Inject, Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import type { KeyObject } from 'node:crypto';
import type { Caller, UserType } from '../access/actor';
import { isLimited, ownAudience, type TokenGrant } from '../access/token-grant';
import { clockToleranceSeconds, currentTime, secondsOf } from '../common/clock';
import { AppError, invalid } from '../common/errors/app-error';
import { newId } from '../common/random';
import { CONFIG, type Config, serviceUrl } from '../config/config';
import { SigningKeysService } from '../signing-keys/signing-keys.service';

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

/** User and session that a token is signed for. */
export interface TokenSubject {
  user_id: string;
  session_id: string;
  user_type: UserType;
  roles: string[];
  /** limits of the token; null = none */
  grant?: TokenGrant | null;
  /** permissions within the grant */
  permissions?: string[];
  carrier_id: string | null;
  amr: string[];
  auth_time: Date;
}

const tokenMax = 4_096;
const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Signs and verifies access tokens. Does not check whether the session has ended. */
@Injectable()
export class AccessTokens {
  /** options of every verification */
  readonly rules: { algorithms: ['ES256']; issuer: string; audience: [string, ...string[]]; clockTolerance: number };

  constructor(
    private readonly jwt: JwtService,
    private readonly signingKeys: SigningKeysService,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.rules = {
      algorithms: ['ES256'],
      issuer: serviceUrl(config),
      audience: [ownAudience, ...config.TOKEN_AUDIENCES],
      clockTolerance: clockToleranceSeconds,
    };
  }

  /** Signs a token for a session. */
  sign(subject: TokenSubject): { access_token: string; expires_in: number } {
    const { user_id, session_id, user_type, roles, carrier_id, amr, auth_time } = subject;
    const { grant = null, permissions } = subject;
    const { kid, private_key } = this.signingKeys.signingKey();
    const expires_in = this.config.ACCESS_TOKEN_TTL_SECONDS;
    const iat = secondsOf(currentTime());
    const times = { jti: newId(), iat, exp: iat + expires_in };
    const claims = {
      iss: this.rules.issuer,
      aud: grant?.audience ?? ownAudience,
      sub: user_id,
      client_id: grant?.client_id ?? ownAudience,
      sid: session_id,
      ...times,
      user_type,
      ...(isLimited(grant) ? { permissions } : { roles }),
      ...(carrier_id === null ? {} : { carrier_id }),
      amr,
      auth_time: secondsOf(auth_time),
    };
    const header = { alg: 'ES256' as const, typ: 'at+jwt', kid };
    // Pass a KeyObject: jsonwebtoken would parse a PEM string on each call.
    const access_token = this.jwt.sign(claims, { privateKey: private_key as never, algorithm: 'ES256', header });
    return { access_token, expires_in };
  }

  /** Adds the limits that a request asks for. @throws request.invalid for an unknown audience */
  limited(caller: Caller, { audience, permissions }: TokenGrant): Caller {
    const detail = 'must contain only carrier-platform and names of TOKEN_AUDIENCES';
    if (audience?.every((name) => this.rules.audience.includes(name)) === false)
      throw invalid({ pointer: '/audience', code: 'field.not_allowed', detail });
    const asked = { ...(audience && { audience }), ...(permissions && { permissions }) };
    return isLimited(asked) ? { ...caller, asked } : caller;
  }

  /** Returns the claims of a valid token. @throws auth.token_invalid */
  async verify(token: string): Promise<AccessTokenClaims> {
    await this.learnKey(token);
    return this.verifyWith(this.keyFor(token), token);
  }

  /**
   * Returns the session of an access token that was sent beside a refresh token.
   * Accepts an expired token, and a token whose signing key was retired by a rotation.
   * Rejects a token whose key is unknown or revoked, before the refresh token is rotated.
   * @throws auth.token_invalid
   */
  async sessionBesideRefresh(token: string): Promise<string> {
    const key = token.length > tokenMax ? null : await this.signingKeys.findKey(headerOf(token));
    return this.verifyWith(requireForm(token, key), token, { ignoreExpiration: true }).sid;
  }

  /**
   * Loads the signing key of a token if this instance does not know the key yet.
   * Await it before `keyFor`.
   */
  async learnKey(token: string): Promise<void> {
    if (token.length <= tokenMax) await this.signingKeys.learn(headerOf(token));
  }

  /**
   * Returns the key that must verify a token. Rejects any form that `sign` does not produce.
   * @throws auth.token_invalid
   */
  keyFor(token: string): KeyObject {
    return requireForm(token, token.length > tokenMax ? null : this.signingKeys.publicKeyFor(headerOf(token)));
  }

  /** Returns the claims of a verified payload. Checks their types. @throws auth.token_invalid */
  claimsOf(payload: unknown): AccessTokenClaims {
    const claims = payload as AccessTokenClaims;
    const times = [claims.iat, claims.exp].every((time) => Number.isSafeInteger(time) && time > 0);
    const ids = [claims.sub, claims.sid].every((id) => typeof id === 'string' && uuidForm.test(id));
    const future = claims.iat > currentTime().getTime() / 1_000 + clockToleranceSeconds;
    // Only limited tokens have a list of audiences.
    const aud = typeof claims.aud === 'string' || Array.isArray(claims.permissions);
    if (!times || !ids || future || !aud) throw new AppError('auth.token_invalid');
    return claims;
  }

  private verifyWith(key: KeyObject, token: string, options: { ignoreExpiration?: boolean } = {}): AccessTokenClaims {
    try {
      return this.claimsOf(this.jwt.verify(token, { ...this.rules, publicKey: key as never, ...options }));
    } catch {
      throw new AppError('auth.token_invalid');
    }
  }
}

/** Returns the first part of a token. */
function headerOf(token: string): string {
  return token.slice(0, Math.max(0, token.indexOf('.')));
}

/**
 * Returns the key if there is a key and the token has exactly the form that `sign` produces.
 * @throws auth.token_invalid
 */
function requireForm(token: string, key: KeyObject | null): KeyObject {
  const [, payload = '', signature = '', ...rest] = key === null ? [] : token.split('.');
  if (key === null || rest.length > 0 || !isCanonical(payload) || !isCanonical(signature))
    throw new AppError('auth.token_invalid');
  return key;
}

/**
 * Returns whether a text is canonical base64url (RFC 4648 §3.5), without other characters.
 * Otherwise other texts would decode to the same bytes (draft-ietf-oauth-rfc8725bis §3.14).
 */
function isCanonical(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;
}
