import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { currentTime } from '../common/clock';
import { type AccessTokenClaims, AccessTokens } from './access-tokens';
import { SigningKeysService } from '../signing-keys/signing-keys.service';

/** Tokens whose verification is remembered; about 1.5 kB each. */
const tokensMax = 20_000;

/**
 * Access tokens whose signature, form and claims were found good, by all their bytes
 * (CVE-2026-35039: a key of less than that can answer with somebody else's claims). Only what never
 * changes is remembered: expiry is looked at on each use, and whether the session lives is asked
 * elsewhere.
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
   * The claims of a token that was verified before, with keys that are still good, and has not
   * expired; null says nothing.
   */
  find(token: string): AccessTokenClaims | null {
    if (this.version !== this.signingKeys.version) this.clear();
    const claims = this.claims.get(token);
    return claims === undefined || claims.exp * 1_000 <= currentTime().getTime() ? null : claims;
  }

  /** The claims of a good token. @throws auth.token_invalid */
  async verify(token: string): Promise<AccessTokenClaims> {
    const known = this.find(token);
    if (known !== null) return known;
    const claims = await this.tokens.verify(token);
    this.remember(token, claims);
    return claims;
  }

  /** Keeps what was verified just now, with the keys of this moment. */
  remember(token: string, claims: AccessTokenClaims): void {
    if (this.version !== this.signingKeys.version) this.clear();
    this.claims.set(token, claims);
  }

  private clear(): void {
    this.claims.clear();
    this.version = this.signingKeys.version;
  }
}
