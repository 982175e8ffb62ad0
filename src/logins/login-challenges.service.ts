import { Injectable } from '@nestjs/common';
import type { Caller } from '../access/actor';
import type { TokenGrant } from '../access/token-grant';
import { hashToken, mintToken } from '../common/random';
import { changesPassword, type PasswordRenewal } from '../credentials/credentials.service';
import { type LoginAttempt, LoginAttemptsService } from '../credentials/login-attempts.service';
import { type FactorMethod, FactorsService } from '../credentials/factors/factors.service';
import { type LoginChallenge, LoginChallengesRepository } from './login-challenges.repository';

export type { LoginChallenge } from './login-challenges.repository';

/** Seconds within which the second step must follow. */
const ttlSeconds = 300;
/** Number of rejected proofs after which a challenge ends. */
const wrongCodesMax = 5;
/** Number of challenges per user and counter address. A further one replaces the oldest. */
const challengesMax = 5;

/** A right password whose login needs a second factor. */
export interface IssuedChallenge {
  /** secret of 256 bits for the second step */
  challenge: string;
  /** seconds until the challenge expires */
  expires_in: number;
  /** what the user can send with the challenge */
  factors: FactorMethod[];
}

/** The state of a login between its two steps. */
export interface FirstStep {
  user_id: string;
  password_changed_at: Date | null;
  /** open attempt of the password */
  attempt: LoginAttempt;
  renewal: PasswordRenewal;
  /** limits of the tokens */
  grant: TokenGrant | null;
}

/**
 * Manages the challenges between the two steps of a login. A challenge belongs to one user and
 * password. Only the second step accepts it (M4).
 */
@Injectable()
export class LoginChallengesService {
  constructor(
    private readonly challenges: LoginChallengesRepository,
    private readonly attempts: LoginAttemptsService,
    private readonly factors: FactorsService,
  ) {}

  /**
   * Issues a challenge for a user with a confirmed factor, and closes the attempt without resetting
   * its counter. Lock the user first.
   */
  async issue(
    { user_id, password_changed_at, attempt, renewal, grant }: FirstStep,
    { ip, user_agent }: Caller,
  ): Promise<IssuedChallenge> {
    await this.attempts.release(attempt);
    const challenge = mintToken();
    await this.challenges.insert(
      {
        challenge_hash: hashToken(challenge),
        user_id,
        password_changed_at,
        counter_address: attempt.address,
        renewal: changesPassword(renewal) ? renewal : null,
        token_grant: grant,
        ip,
        user_agent,
        ttl_seconds: ttlSeconds,
      },
      challengesMax,
    );
    return { challenge, expires_in: ttlSeconds, factors: await this.factors.available(user_id) };
  }

  /**
   * Returns a challenge that is still valid, or null. Call it again after locking the user: a
   * concurrent request may have used the challenge.
   */
  find(challenge: string): Promise<LoginChallenge | null> {
    return this.challenges.find(hashToken(challenge), wrongCodesMax);
  }

  /** Counts a rejected proof. The fifth one ends the challenge. */
  async countWrong({ challenge_hash }: LoginChallenge): Promise<void> {
    await this.challenges.countWrong(challenge_hash);
  }

  /** Ends a challenge whose login was rejected. The user is notified of the missing second step. */
  async reject({ challenge_hash }: LoginChallenge): Promise<void> {
    await this.challenges.end(challenge_hash);
  }

  /** Removes a challenge that was used. */
  async remove({ challenge_hash }: LoginChallenge): Promise<void> {
    await this.challenges.delete(challenge_hash);
  }
}
