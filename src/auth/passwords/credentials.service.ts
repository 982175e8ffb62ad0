import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Actor } from '../../access/actor';
import { invalid } from '../../http/errors/app-error';
import { createKeyedHash, deriveKey, hashToken, mintToken } from '../../platform/random';
import { CONFIG, type Config } from '../../platform/config/config';
import { CredentialsRepository, type LiveToken, type SentLink } from './credentials.repository';
import type { TokenPurpose } from './one-time-token.entity';
import { costsOf } from './hash-work';
import { hashPassword, needsRehash, rehashPassword, verifyPassword } from './password-hashing';
import type { HashCost } from './stored-hash';
import { type PasswordContext, PasswordPolicy } from './policy/password-policy';

/** Format of the token in a link: 256 bits in base64url. */
const tokenFormat = /^[A-Za-z0-9_-]{43}$/;
const initialPasswordTtlSeconds = 7 * 86_400;
/** Links that a transaction voids. */
const batchMax = 5_000;
const allPurposes: TokenPurpose[] = ['reset', 'invite', 'email', 'shown', 'not_me'];

/** A password that the policy accepts. */
export type CheckedPassword = string & { readonly [checked]: true };
declare const checked: unique symbol;

/** The stored password of a user. */
export interface StoredPassword {
  /** null if the user cannot log in */
  password_hash: string | null;
  /** false for an imported password until its first login */
  policy_checked: boolean;
  /** an initial password that was not used yet, and expires */
  initial: boolean;
  /** whether the user may not log in, even with the right password */
  rejected?: boolean;
}

/** Changes of a stored password that the login with it persists. */
export interface PasswordRenewal {
  stored: StoredPassword;
  /** hash with the current parameters, or null to keep the stored hash */
  renewed_hash: string | null;
  /** the current policy rejects the password, so the user must change it */
  must_change: boolean;
  /** the policy could not check the password, so the next login checks it */
  check_failed: boolean;
}

/** Returns whether a login changes anything about the stored password. */
export function changesPassword({ stored, renewed_hash, must_change }: PasswordRenewal): boolean {
  return renewed_hash !== null || !stored.policy_checked || stored.initial || must_change;
}

/** Manages passwords and mailed links. Knows users by id only. */
@Injectable()
export class CredentialsService {
  private readonly logger = new Logger(CredentialsService.name);
  private readonly changeKey: Buffer;
  /** validity of the links in seconds */
  private readonly ttls: Record<Exclude<TokenPurpose, 'not_me'>, number>;

  constructor(
    private readonly credentials: CredentialsRepository,
    private readonly policy: PasswordPolicy,
    @Inject(CONFIG) config: Config,
  ) {
    this.ttls = {
      reset: config.RESET_TOKEN_TTL_SECONDS,
      shown: config.RESET_TOKEN_TTL_SECONDS,
      invite: config.INVITE_TOKEN_TTL_SECONDS,
      email: 86_400,
    };
    this.changeKey = deriveKey(config.APP_SECRET, 'links-that-undo-changes');
  }

  /**
   * Returns a new password if the policy accepts it. Takes up to seconds while many are checked.
   * @throws request.invalid
   */
  async checkNewPassword(password: string, context: PasswordContext, pointer = '/password'): Promise<CheckedPassword> {
    const fault = await this.policy.fault(password, context, pointer);
    if (fault !== null && fault !== 'unknown') throw invalid(fault);
    return password as CheckedPassword;
  }

  /**
   * Hashes a new password.
   * Slow on purpose: never call it in a transaction, and make all other checks first.
   * @param actor takes one place of its share of the hash queue
   * @throws request.rate_limited, service.overloaded
   */
  hashNewPassword(password: CheckedPassword, actor: Pick<Actor, 'actor_type' | 'user_id'>): Promise<string> {
    return hashPassword(password, `${actor.actor_type}:${actor.user_id}`);
  }

  /** Returns the costs that a rejected login is padded to now. */
  async refusalCosts(): Promise<HashCost[]> {
    return costsOf(await this.credentials.listForeignForms());
  }

  /**
   * Sets a password.
   * @param initial set by another user: expires after 7 days without a login (OWASP ASVS 6.4.1)
   */
  async setPassword(user_id: string, password_hash: string, initial: boolean): Promise<void> {
    await this.credentials.upsertHash(user_id, password_hash, initial ? initialPasswordTtlSeconds : null);
  }

  voidPasswords(user_ids: string[]): Promise<void> {
    return this.credentials.voidPasswords(user_ids);
  }

  /**
   * Verifies a password. Returns null if it is wrong, otherwise what the login must persist, or
   * `rejected` for the right password of a user who may not log in.
   * A rejection takes the same work for every user, for a user without a password and for `null`
   * (no user, L19).
   * Checks the policy only if the password was never checked, or if its hash is outdated. A later
   * change of the policy does not affect other passwords.
   * Never call it in a transaction.
   * @throws service.overloaded
   */
  async verify(
    found: (StoredPassword & PasswordContext) | null,
    password: string,
  ): Promise<PasswordRenewal | 'rejected' | null> {
    const password_hash = found?.password_hash ?? null;
    const isRejected = found?.rejected === true;
    const isRight = await verifyPassword(password, password_hash, await this.refusalCosts(), isRejected);
    if (!isRight || found === null || password_hash === null) return null;
    if (isRejected) return 'rejected';
    const { policy_checked, initial } = found;
    const stored = { password_hash, policy_checked, initial };
    const isOutdated = needsRehash(password_hash);
    if (policy_checked && !isOutdated) return { stored, renewed_hash: null, must_change: false, check_failed: false };
    // An error would lock the user out, and reveal that the password is right (P16).
    const fault = await this.policy.fault(password, found, '/password').catch((error: unknown) => {
      this.logger.error(error, 'The password of a login could not be checked. The next login checks it.');
      return 'unknown' as const;
    });
    // If hashing fails, the stored hash stays, and the next login tries again.
    const renewed_hash = isOutdated ? await rehashPassword(password).catch(() => null) : null;
    const check_failed = fault === 'unknown';
    return { stored, renewed_hash, must_change: !check_failed && fault !== null, check_failed };
  }

  /**
   * Persists what a login changes about the stored password: replaces an outdated hash, notes
   * whether the policy checked the password, and keeps an initial password from expiring.
   */
  async keep(user_id: string, renewal: PasswordRenewal): Promise<void> {
    if (!changesPassword(renewal)) return;
    const { stored, renewed_hash, check_failed } = renewal;
    await this.credentials.keep(user_id, stored.password_hash, renewed_hash, !check_failed);
  }

  /**
   * Records the request of a link for each user; the mail jobs mint the tokens.
   * Returns false if the last requests are less than `pause_seconds` ago.
   */
  requestTokens(user_ids: string[], purpose: TokenPurpose, pause_seconds = 0): Promise<boolean> {
    return this.credentials.requestTokens(user_ids, purpose, pause_seconds);
  }

  wasRequested(user_id: string, purpose: TokenPurpose, within_seconds: number): Promise<boolean> {
    return this.credentials.wasRequested(user_id, purpose, within_seconds);
  }

  /**
   * Mints the token of a link, stores its hash and voids the previous link.
   * Returns null if the user is disabled or deleted, or if the address is no longer the user's.
   */
  async mintToken(user_id: string, purpose: Exclude<TokenPurpose, 'not_me'>, email: string): Promise<string | null> {
    const token = mintToken();
    const ttl = this.ttls[purpose];
    return (await this.credentials.putToken(user_id, purpose, hashToken(token), email, ttl)) ? token : null;
  }

  /** Lists the links that were mailed to a user, unless they were used or voided. */
  async listMailed(user_id: string): Promise<{ purpose: SentLink['purpose']; sent_at: Date }[]> {
    const links = await this.credentials.listSent(user_id);
    return links.map(({ purpose, requested_at, expires_at }) => {
      const minted = expires_at.getTime() - this.ttls[purpose] * 1_000;
      return { purpose, sent_at: new Date(Math.max(minted, requested_at.getTime())) };
    });
  }

  /** Records the rights with which a proposed address must be confirmed. Voids no link. */
  async recordProposal(user_id: string): Promise<void> {
    await this.credentials.recordProposal(user_id);
  }

  /**
   * Records a change by the user's own session, which the owner of the current address can undo.
   * Call it in the transaction of the change.
   * @param removed factor that the change removed
   */
  async recordChange(user_id: string, removed: string | null = null): Promise<void> {
    const seed = hashToken(mintToken());
    await this.credentials.recordChange(user_id, seed, hashToken(this.changeToken(seed)), removed);
  }

  /**
   * Returns the token that undoes the recorded changes of a user, or null if it is not valid or
   * belongs to another address. All mails about these changes contain the same token, so a later
   * mail does not void the link of an earlier mail.
   */
  async findChangeToken(user_id: string, email: string): Promise<string | null> {
    const seed = await this.credentials.findSeed(user_id, email);
    return seed === null ? null : this.changeToken(seed);
  }

  private changeToken(seed: Buffer): string {
    return createKeyedHash(this.changeKey).update(seed).digest('base64url');
  }

  /** Returns whether a user logged in from an address within the last 30 days. */
  isKnown(user_id: string, address: string): Promise<boolean> {
    return this.credentials.isKnown(user_id, address);
  }

  /**
   * Returns the link with a token, without using the link. Returns null for a token that was used,
   * replaced, has expired or does not exist.
   */
  async findToken(token: string, purposes: TokenPurpose[]): Promise<LiveToken | null> {
    return tokenFormat.test(token) ? this.credentials.findToken(hashToken(token), purposes) : null;
  }

  /** Uses a link. Returns null if the link is no longer valid. */
  async consumeToken(token: string, purposes: TokenPurpose[]): Promise<LiveToken | null> {
    return tokenFormat.test(token) ? this.credentials.consumeToken(hashToken(token), purposes) : null;
  }

  /**
   * Voids the links of users.
   * @param proven_email keeps `not_me` links that were mailed to another address; null keeps none.
   * A thief who moved the address must not void these links with a reset (R30).
   */
  async voidTokens(user_ids: string[], purposes = allPurposes, proven_email: string | null = null): Promise<void> {
    await this.credentials.voidTokens(user_ids, purposes, proven_email);
  }

  /** Voids all links after a restore, in batches, and returns their number. */
  async voidAllTokens(): Promise<number> {
    let voided = 0;
    for (let count = batchMax; count === batchMax; voided += count)
      count = await this.credentials.voidAnyTokens(batchMax);
    return voided;
  }
}
