import { currentTime } from '../../../platform/clock';
import { deriveKey, hashToken, mintToken } from '../../../platform/random';
import { Signer } from '../../../platform/signer';
import type { Config } from '../../../platform/config/config';

/** Lifetime of a challenge, and time that browsers wait for the user. */
export const passkeyChallengeSeconds = 300;

/** What a challenge is for. A challenge for another purpose, user or context is rejected. */
export interface ChallengeUse {
  purpose: 'enrollment' | 'login' | 'second_factor' | 'reauthentication';
  /** user who asked; null before a login without name */
  user_id: string | null;
  /** session, or challenge of the login, that asked; null before a login without name */
  context: string | null;
}

/** A valid challenge. */
export interface OpenedChallenge {
  /** hash that is stored when the challenge is used */
  hash: Buffer;
  expires_at: Date;
}

interface SignedValue {
  nonce: string;
  /** milliseconds since 1970 */
  expires_at: number;
}

/**
 * Signs WebAuthn challenges. Issued challenges are not stored: anyone may request options for a
 * login, even a page that only offers autofill. Only a used challenge is stored.
 * Challenges that were signed with `APP_SECRET_PREVIOUS` stay valid.
 */
export class PasskeyChallenges {
  private readonly current: Signer;
  private readonly previous: Signer | null;

  /** @param database challenges are bound to its history: a restored one lacks their use (F36) */
  constructor(
    { APP_SECRET, APP_SECRET_PREVIOUS }: Pick<Config, 'APP_SECRET' | 'APP_SECRET_PREVIOUS'>,
    private readonly database: { history: string },
  ) {
    this.current = signerOf(APP_SECRET);
    this.previous = APP_SECRET_PREVIOUS === undefined ? null : signerOf(APP_SECRET_PREVIOUS);
  }

  /** Returns a new challenge: 256 random bits and the expiry, signed for one use. */
  sign(use: ChallengeUse): string {
    const expires_at = currentTime().getTime() + passkeyChallengeSeconds * 1_000;
    return this.current.sign({ nonce: mintToken(), expires_at } satisfies SignedValue, this.contextOf(use));
  }

  /** Returns null for a challenge that was altered, has expired, or was signed for another use. */
  open(challenge: string, use: ChallengeUse): OpenedChallenge | null {
    const context = this.contextOf(use);
    const value =
      this.current.open<SignedValue>(challenge, context) ?? this.previous?.open<SignedValue>(challenge, context);
    if (value === null || value === undefined || value.expires_at <= currentTime().getTime()) return null;
    return { hash: hashToken(challenge), expires_at: new Date(value.expires_at) };
  }

  private contextOf({ purpose, user_id, context }: ChallengeUse): string {
    return JSON.stringify([purpose, user_id, context, this.database.history]);
  }
}

function signerOf(secret: string): Signer {
  return new Signer(deriveKey(secret, 'passkey-challenges'));
}
