import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { currentTime } from '../common/clock';
import { type AccessTokenClaims, AccessTokens } from './access-tokens';

/** Tokens whose verification is remembered; about 1.5 kB each. */
const tokensMax = 20_000;

/**
 * Access tokens whose signature, form and claims were found good, by all their bytes (CVE-2026-35039: a key of less than that can answer with somebody
 * else's claims). Only what never changes is remembered: expiry is looked at on each use, and whether the session lives is asked elsewhere.
 */
@Injectable()
export class VerifiedTokens {
  private readonly claims = new LRUCache<string, AccessTokenClaims>({ max: tokensMax });

  constructor(private readonly tokens: AccessTokens) {}

  /** The claims of a token that was verified before and has not expired; null says nothing. */
  find(token: string): AccessTokenClaims | null {
    const claims = this.claims.get(token);
    return claims === undefined || claims.exp * 1_000 <= currentTime().getTime() ? null : claims;
  }

  /** The claims of a good token. @throws auth.token_invalid */
  verify(token: string): AccessTokenClaims {
    return this.find(token) ?? this.remember(token, this.tokens.verify(token));
  }

  /** Keeps what was verified. */
  remember(token: string, claims: AccessTokenClaims): AccessTokenClaims {
    this.claims.set(token, claims);
    return claims;
  }

  /** Forgets everything: a key is not good any more. */
  clear(): void {
    this.claims.clear();
  }
}
