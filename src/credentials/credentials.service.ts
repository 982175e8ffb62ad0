import { Inject, Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { invalid } from '../common/errors/app-error';
import { hashToken, mintToken } from '../common/random';
import { CONFIG, type Config } from '../config/config';
import { CredentialsRepository, type LiveToken } from './credentials.repository';
import type { TokenPurpose } from './one-time-token.entity';
import { HashCostsService } from './hash-costs.service';
import { hashPassword, needsRehash, rehashPassword, verifyPassword, wrapMd5 } from './password-hashing';
import type { RefusalBudget } from './refusal-budget';
import { type PasswordContext, passwordFault } from './password-policy';

export { slowsRefusals } from './hash-work';
export type { RefusalBudget } from './refusal-budget';
export { readHash as importableHash } from './stored-hash';

/** Form of every token in a link: 256 bits in base64url. */
const tokenForm = /^[A-Za-z0-9_-]{43}$/;
const initialPasswordTtlSeconds = 7 * 86_400;

/** Identifies an actor in the hash queue. */
export type HashingActor = Pick<Actor, 'actor_type' | 'user_id'>;

/** A stored password. */
export interface StoredPassword {
  /** of the password in force; null for a user who cannot log in */
  password_hash: string | null;
  /** false for an imported password until its first login */
  policy_checked: boolean;
}

/** Passwords and mailed links. Knows user ids only. */
@Injectable()
export class CredentialsService {
  constructor(
    private readonly credentials: CredentialsRepository,
    private readonly costs: HashCostsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Checks a new password against the policy. @throws request.invalid */
  async checkNewPassword(password: string, context: PasswordContext, pointer = '/password'): Promise<void> {
    const fault = await passwordFault(password, this.config.PASSWORD_MIN_LENGTH, context, pointer);
    if (fault !== null) throw invalid(fault);
  }

  /**
   * Hashes a new password after checking it against the policy.
   * Slow on purpose: never call it in a transaction, and make all other checks first.
   * @param actor takes one place of its share of the hash queue
   * @throws request.invalid, request.rate_limited, service.overloaded
   */
  async hashNewPassword(password: string, context: PasswordContext, actor: HashingActor): Promise<string> {
    await this.checkNewPassword(password, context);
    return hashPassword(password, `${actor.actor_type}:${actor.user_id}`);
  }

  /**
   * The hash to keep for a user whose password is known by its MD5 only. Slow on purpose, and
   * patient: never call it in a transaction.
   */
  wrapMd5(md5: string): Promise<string> {
    return wrapMd5(md5);
  }

  /** Returns what further imported hashes may cost, so that refused logins stay fast. */
  refusalBudget(): Promise<RefusalBudget> {
    return this.costs.budget();
  }

  /**
   * Sets a password. An initial one, set by somebody else, dies unused after 7 days (OWASP ASVS
   * 6.4.1). Voids links that would replace it.
   */
  async setPassword(user_id: string, password_hash: string, initial: boolean): Promise<void> {
    await this.credentials.upsertHash(user_id, password_hash, initial ? initialPasswordTtlSeconds : null);
    await this.voidTokens([user_id]);
  }

  /**
   * Persists the costs of hashes that the current transaction stores. Call it last: it locks rows.
   */
  async noteHashes(hashes: string[]): Promise<void> {
    await this.costs.add(hashes);
  }

  /**
   * Verifies a password. A rejection takes the same work for every user, and for `null` (no
   * password).
   * Never call it in a transaction.
   * @throws service.overloaded
   */
  async verify(password_hash: string | null, password: string): Promise<boolean> {
    return verifyPassword(password, password_hash, await this.costs.current());
  }

  /**
   * Returns whether the user must change a right password because the current policy rejects it.
   * Checks only passwords that the policy has not checked, and hashes with other parameters than a
   * new hash. A later change of the policy does not affect other passwords.
   */
  async mustBeChanged(stored: StoredPassword, password: string, context: PasswordContext): Promise<boolean> {
    const { password_hash, policy_checked } = stored;
    if (password_hash === null || (policy_checked && !needsRehash(password_hash))) return false;
    return (await passwordFault(password, this.config.PASSWORD_MIN_LENGTH, context, '/password')) !== null;
  }

  /**
   * Replaces a hash that has other parameters than a new hash. Call it after `must_change_password`
   * and `policy_checked` were persisted: with the new hash `mustBeChanged` returns false.
   * Keeps the hash if hashing fails; the next login tries again. Never call it in a transaction.
   */
  async renewHash(user_id: string, password_hash: string | null, password: string): Promise<void> {
    if (password_hash === null || !needsRehash(password_hash)) return;
    await rehashPassword(password)
      .then((newer) => this.credentials.replaceHash(user_id, password_hash, newer))
      .catch(() => undefined);
  }

  /**
   * Notes that a link is wanted; the mail job mints its token. False when the last one was wanted
   * less than `pause_seconds` ago.
   */
  requestToken(user_id: string, purpose: TokenPurpose, pause_seconds = 0): Promise<boolean> {
    return this.credentials.requestToken(user_id, purpose, pause_seconds);
  }

  /** Returns whether a link was requested in the last `within_seconds`. */
  wasRequested(user_id: string, purpose: TokenPurpose, within_seconds: number): Promise<boolean> {
    return this.credentials.wasRequested(user_id, purpose, within_seconds);
  }

  /** Notes for many who have none yet that a link is wanted. */
  async requestTokens(user_ids: string[], purpose: TokenPurpose): Promise<void> {
    await this.credentials.requestTokens(user_ids, purpose);
  }

  /**
   * Makes the token of a link; the newest wins, only its hash is kept. Null when the user may have
   * none any more, or not at this address.
   */
  async mintToken(user_id: string, purpose: TokenPurpose, email: string): Promise<string | null> {
    const ttl = {
      reset: this.config.RESET_TOKEN_TTL_SECONDS,
      invite: this.config.INVITE_TOKEN_TTL_SECONDS,
      email: 86_400,
    };
    const token = mintToken();
    return (await this.credentials.putToken(user_id, purpose, hashToken(token), email, ttl[purpose])) ? token : null;
  }

  /**
   * The link behind a token, or null when it is used, replaced, expired or none of ours. Uses
   * nothing up.
   */
  async findToken(token: string, purposes: TokenPurpose[]): Promise<LiveToken | null> {
    return tokenForm.test(token) ? this.credentials.findToken(hashToken(token), purposes) : null;
  }

  /** Uses a link up; null when it is not good any more. */
  async consumeToken(token: string, purposes: TokenPurpose[]): Promise<LiveToken | null> {
    return tokenForm.test(token) ? this.credentials.consumeToken(hashToken(token), purposes) : null;
  }

  /** Voids the links of users: disabled and deleted ones have none. */
  async voidTokens(user_ids: string[], purposes: TokenPurpose[] = ['reset', 'invite', 'email']): Promise<void> {
    await this.credentials.voidTokens(user_ids, purposes);
  }
}
