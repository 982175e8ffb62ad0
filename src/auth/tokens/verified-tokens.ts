import { Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { LRUCache } from 'lru-cache';
import { type Actor, actorOf, type Caller } from '../../access/actor';
import { clockToleranceSeconds, currentTime } from '../../platform/clock';
import { AppError } from '../../http/errors/app-error';
import { shareOf } from '../../platform/instance';
import { type LiveLogin, LiveLoginsService } from './live-logins.service';
import { SigningKeysService } from '../signing-keys/signing-keys.service';
import { type AccessTokenClaims, AccessTokens } from './access-tokens';

/** A valid access token: its claims, and the live login behind it. */
export interface VerifiedToken {
  claims: AccessTokenClaims;
  login: LiveLogin;
}

/** Maximum number of cached tokens; about 1.5 kB each. */
const tokensMax = shareOf(20_000);
const lengthMax = 4_096;
const idForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Verifies access tokens for all routes: form, signature, claims and expiry, then the session.
 * Caches tokens whose signature and claims are verified. The cache key is the whole token, because
 * a part of it could return the claims of another token (CVE-2026-35039).
 */
@Injectable()
export class VerifiedTokens {
  private readonly claims = new LRUCache<string, AccessTokenClaims>({ max: tokensMax });
  private version = 0;

  constructor(
    private readonly jwt: JwtService,
    private readonly signingKeys: SigningKeysService,
    private readonly logins: LiveLoginsService,
    private readonly tokens: AccessTokens,
  ) {}

  /** Returns a token if it is cached with its login. Null does not mean that it is invalid. */
  known(token: string): VerifiedToken | null {
    const claims = this.find(token);
    const login = claims === null ? null : this.logins.cached(claims.sid, claims.sub);
    return claims === null || login === null ? null : { claims, login };
  }

  /**
   * Returns a valid token with the current state, roles and permissions of its user.
   * @throws auth.token_invalid also if the session has ended or the user is not active (ASVS 7.4.2)
   */
  async verify(token: string): Promise<VerifiedToken> {
    const claims = this.claimsOf(token);
    return { claims, login: await this.loginOf(claims) };
  }

  /** Returns the claims of a token. Does not check its session. @throws auth.token_invalid */
  claimsOf(token: string): AccessTokenClaims {
    const known = this.find(token);
    if (known !== null) return known;
    const claims = this.read(token);
    this.remember(token, claims);
    return claims;
  }

  /**
   * Returns the actor with the time of the last authentication from the database: another instance
   * may have renewed it a moment ago.
   * @throws auth.token_invalid
   */
  async reread(actor: Actor): Promise<Actor> {
    const { session_id, user_id } = actor;
    if (session_id === null) throw new AppError('auth.token_invalid');
    return actorIn(await this.loginOf({ sid: session_id, sub: user_id }, 'database'), actor);
  }

  /**
   * Returns the login behind the claims of a token.
   * @param from `database` if another instance may have changed the session a moment ago
   * @throws auth.token_invalid
   */
  async loginOf(
    { sid, sub }: Pick<AccessTokenClaims, 'sid' | 'sub'>,
    from: 'memory' | 'database' = 'memory',
  ): Promise<LiveLogin> {
    const login = await (from === 'memory' ? this.logins.find(sid, sub) : this.logins.read(sid, sub));
    if (login === null) throw new AppError('auth.token_invalid');
    return login;
  }

  /**
   * Returns the session of an access token that was sent beside a refresh token.
   * Accepts an expired token, and a token whose signing key was retired by a rotation.
   * Rejects a token whose key is unknown or revoked, before the refresh token is rotated.
   * @throws auth.token_invalid
   */
  sessionBesideRefresh(token: string): string {
    return this.read(token, true).sid;
  }

  /**
   * Returns the claims of a token that was verified with keys that are still valid, and has not
   * expired. Null does not mean that the token is invalid.
   */
  find(token: string): AccessTokenClaims | null {
    const claims = this.cache().get(token);
    return claims === undefined || claims.exp * 1_000 <= currentTime().getTime() ? null : claims;
  }

  /** Caches a token that was just verified with the current keys. */
  remember(token: string, claims: AccessTokenClaims): void {
    this.cache().set(token, claims);
  }

  /** Returns the cache. Clears it first if the signing keys have changed. */
  private cache(): LRUCache<string, AccessTokenClaims> {
    if (this.version === this.signingKeys.version) return this.claims;
    this.version = this.signingKeys.version;
    this.claims.clear();
    return this.claims;
  }

  /**
   * Returns the claims of a token that has exactly the form that `AccessTokens` produces.
   * @param late also accepts an expired token and a retired key
   */
  private read(token: string, late = false): AccessTokenClaims {
    const [header = '', payload = '', signature = '', ...rest] = token.length > lengthMax ? [] : token.split('.', 4);
    const key = this.signingKeys.publicKeyFor(header, late);
    if (key === null || rest.length > 0 || !isCanonical(payload) || !isCanonical(signature))
      throw new AppError('auth.token_invalid');
    try {
      const options = { ...this.tokens.rules, publicKey: key as never, ignoreExpiration: late };
      return checkedClaims(this.jwt.verify(token, options));
    } catch {
      throw new AppError('auth.token_invalid');
    }
  }
}

/** Returns the actor of a login. */
export function actorIn(login: LiveLogin, caller: Caller): Actor {
  const { session, grant, fresh_until } = login;
  const is_limited = grant?.permissions !== undefined;
  const { session_id, auth_time } = session;
  return actorOf(login, { session_id, audience: grant?.audience, is_limited, auth_time, fresh_until }, caller);
}

/**
 * Returns whether a text is canonical base64url (RFC 4648 §3.5), without other characters.
 * Otherwise several texts would decode to the same bytes (draft-ietf-oauth-rfc8725bis §3.14).
 */
function isCanonical(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;
}

/** Returns the claims of a payload. Checks their types. @throws auth.token_invalid */
function checkedClaims(claims: AccessTokenClaims): AccessTokenClaims {
  const times = [claims.iat, claims.exp].every((time) => Number.isSafeInteger(time) && time > 0);
  const ids = [claims.sub, claims.sid].every((id) => typeof id === 'string' && idForm.test(id));
  const future = claims.iat > currentTime().getTime() / 1_000 + clockToleranceSeconds;
  // Only limited tokens have a list of audiences.
  const aud = typeof claims.aud === 'string' || Array.isArray(claims.permissions);
  if (!times || !ids || future || !aud) throw new AppError('auth.token_invalid');
  return claims;
}
