import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { currentTime } from '../common/clock';
import { shareOf } from '../common/instance';
import { type AccessTokenClaims, AccessTokens } from './access-tokens';
import { SigningKeysService } from '../signing-keys/signing-keys.service';

/** Maximum number of cached tokens; about 1.5 kB each. */
const tokensMax = shareOf(20_000);

/**
 * Caches access tokens whose signature, form and claims are verified.
 * The cache key is the whole token, because a part of it could return the claims of another token
 * (CVE-2026-35039). `find` checks the expiry. Callers check whether the session has ended.
 */
@Injectable()
export class VerifiedTokens {
  private readonly claims = new LRUCache<string, AccessTokenClaims>({ max: tokensMax });
  private version = 0;

  constructor(
    private readonly tokens: AccessTokens,
    private readonly signingKeys: SigningKeysService,
  ) {}

  /**
   * Returns the claims of a token that was verified with keys that are still valid, and has not
   * expired. Null does not mean that the token is invalid.
   */
  find(token: string): AccessTokenClaims | null {
    if (this.version !== this.signingKeys.version) this.clear();
    const claims = this.claims.get(token);
    return claims === undefined || claims.exp * 1_000 <= currentTime().getTime() ? null : claims;
  }

  /** Returns the claims of a valid token. @throws auth.token_invalid */
  async verify(token: string): Promise<AccessTokenClaims> {
    const known = this.find(token);
    if (known !== null) return known;
    const claims = await this.tokens.verify(token);
    this.remember(token, claims);
    return claims;
  }

  /** Caches a token that was just verified with the current keys. */
  remember(token: string, claims: AccessTokenClaims): void {
    if (this.version !== this.signingKeys.version) this.clear();
    this.claims.set(token, claims);
  }

  private clear(): void {
    this.claims.clear();
    this.version = this.signingKeys.version;
  }
}
