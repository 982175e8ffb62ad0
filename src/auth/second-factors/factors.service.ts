import { randomBytes } from 'node:crypto';
import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import type { FactorKind } from '../../access/actor';
import { newId } from '../../platform/random';
import { CONFIG, type Config } from '../../platform/config/config';
import { JobsService } from '../../platform/jobs/jobs.service';
import { EnrollmentCodesRepository } from './codes/enrollment-codes.repository';
import { FactorSecrets } from './factor-secrets';
import type { AddedTotpResponse } from './factors.dto';
import {
  type FactorRecord,
  FactorsRepository,
  type FactorSummary,
  type RenewedSecret,
  type TotpSecret,
} from './factors.repository';
import { hashRecoveryCode, mintRecoveryCodes } from './codes/recovery-codes';
import { describeTotp, matchingStep, totpSecretBytes } from './codes/totp';

/** Number of wrong codes after which an unconfirmed factor is deleted. */
const wrongCodesMax = 5;

/** Number of factors that one short transaction changes. */
const batchMax = 500;
const firstId = '00000000-0000-0000-0000-000000000000';

/** What can complete a login after the password. */
export type FactorMethod = FactorKind | 'recovery_code';

/** A new authenticator app. */
export type AddedTotp = Omit<AddedTotpResponse, 'qr_svg'>;

/**
 * Manages second factors and recovery codes. Knows users by id only.
 * Lock the user before a change, so that changes of the same user run one after the other.
 */
@Injectable()
export class FactorsService implements OnModuleInit {
  private readonly logger = new Logger(FactorsService.name);
  private readonly secrets: FactorSecrets;

  constructor(
    private readonly factors: FactorsRepository,
    private readonly enrollmentCodes: EnrollmentCodesRepository,
    private readonly jobs: JobsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.secrets = new FactorSecrets(config);
  }

  onModuleInit(): void {
    this.jobs.every('23 * * * *', 'remove-unconfirmed-factors', () => this.removeExpired());
    // Without a previous secret there is nothing to decrypt, so the table is not read.
    if (this.config.APP_SECRET_PREVIOUS !== undefined)
      this.jobs.every('*/10 * * * *', 'encrypt-factor-secrets', async () => void (await this.encryptAgain()));
  }

  /** Returns the factors of a user, oldest first, and the number of recovery codes. */
  async list(user_id: string): Promise<{ factors: FactorRecord[]; recovery_codes_left: number }> {
    const [factors, { recovery_codes_left }] = [await this.factors.list(user_id), await this.summary(user_id)];
    return { factors, recovery_codes_left };
  }

  /**
   * Returns what can complete a login of a user. Leaves out passkeys of another RP id, which no
   * browser offers here. Includes recovery codes while some are left.
   */
  async available(user_id: string): Promise<FactorMethod[]> {
    const { kinds, recovery_codes_left } = await this.summary(user_id);
    return recovery_codes_left > 0 ? [...kinds, 'recovery_code'] : kinds;
  }

  /**
   * Adds an authenticator app, which has no effect until `confirmTotp`. Replaces an authenticator
   * app that was not confirmed.
   * @param label name of the user, shown by the authenticator app
   */
  async addTotp(user_id: string, name: string, label: string): Promise<AddedTotp> {
    const factor_id = newId();
    const secret = randomBytes(totpSecretBytes);
    await this.factors.deleteUnconfirmed(user_id);
    const encrypted = this.secrets.encrypt({ user_id, factor_id }, secret);
    await this.factors.insertTotp({ factor_id, user_id, name, secret: encrypted });
    return { factor_id, ...describeTotp(secret, this.config.PRODUCT_NAME, label) };
  }

  /**
   * Confirms an authenticator app with a code. Returns the factor, `wrong` for a wrong code, or
   * `missing` if there is no such unconfirmed factor. Too many wrong codes delete the factor.
   */
  async confirmTotp(user_id: string, factor_id: string, code: string): Promise<FactorRecord | 'wrong' | 'missing'> {
    const found = await this.factors.findUnconfirmed(user_id, factor_id);
    if (found === null) return 'missing';
    const step = this.stepOf(user_id, found, code);
    const confirmed = step === null ? null : await this.factors.acceptStep(user_id, factor_id, step, false);
    if (confirmed === null) await this.factors.countWrong(factor_id, wrongCodesMax);
    return confirmed ?? 'wrong';
  }

  /**
   * Accepts a code of one of the user's authenticator apps. Returns the id of the factor. Returns
   * null for a wrong code, and for a code of a step that is not later than the last accepted step
   * (RFC 6238 §5.2, M1).
   */
  async acceptTotp(user_id: string, code: string): Promise<string | null> {
    let accepted: { factor_id: string; step: number } | null = null;
    // Checks all factors, so that the time does not reveal which one matched.
    for (const found of await this.factors.listSecrets(user_id)) {
      const step = this.stepOf(user_id, found, code);
      if (step !== null && step > (accepted?.step ?? 0)) accepted = { factor_id: found.factor_id, step };
    }
    if (accepted === null) return null;
    const used = await this.factors.acceptStep(user_id, accepted.factor_id, accepted.step, true);
    return used?.factor_id ?? null;
  }

  /** Returns the factor with its previous name, or null if there is none. */
  rename(user_id: string, factor_id: string, name: string): Promise<(FactorRecord & { previous_name: string }) | null> {
    return this.factors.rename(user_id, factor_id, name);
  }

  /**
   * Removes a factor, and with the last confirmed factor the recovery codes. Returns the factor, or
   * null if the user has no factor with this id.
   */
  async remove(user_id: string, factor_id: string): Promise<FactorRecord | null> {
    const removed = await this.factors.delete(user_id, factor_id);
    const left = removed === null ? [] : await this.factors.list(user_id);
    if (removed !== null && !left.some(({ confirmed }) => confirmed)) await this.factors.deleteCodes([user_id]);
    return removed;
  }

  /** Voids the recovery codes of a user: a thief with a session may have renewed them. */
  async voidRecoveryCodes(user_id: string): Promise<void> {
    await this.factors.deleteCodes([user_id]);
  }

  /**
   * Removes all factors and recovery codes of users. Returns the confirmed factors. Their users
   * need a mailed code to enrol the next factor (M10).
   */
  async removeAll(user_ids: string[]): Promise<FactorRecord[]> {
    const removed = await this.factors.deleteAll(user_ids);
    await this.factors.deleteCodes(user_ids);
    const confirmed = removed.filter((factor) => factor.confirmed);
    await this.enrollmentCodes.demand([...new Set(confirmed.map(({ user_id }) => user_id))].sort());
    return confirmed;
  }

  /** Replaces the recovery codes of a user, and returns the new codes. They are not stored. */
  async renewRecoveryCodes(user_id: string): Promise<string[]> {
    const codes = mintRecoveryCodes();
    await this.factors.deleteCodes([user_id]);
    await this.factors.insertCodes(
      user_id,
      codes.map((code) => hashRecoveryCode(code)).filter((hash) => hash !== null),
    );
    return codes;
  }

  /**
   * Uses a recovery code. Returns the number of codes that are left, or null for an unknown code.
   * Only one of several concurrent requests with the same code succeeds.
   */
  async useRecoveryCode(user_id: string, code: string): Promise<number | null> {
    const code_hash = hashRecoveryCode(code);
    return code_hash === null ? null : this.factors.useCode(user_id, code_hash);
  }

  /** Removes authenticator apps that were not confirmed in time. */
  async removeExpired(): Promise<void> {
    while ((await this.factors.removeExpired(batchMax)) === batchMax);
  }

  /**
   * Encrypts the secrets of `APP_SECRET_PREVIOUS` with `APP_SECRET`, in batches. May be killed at
   * any time: the next run finds the secrets that are left. Returns the number of secrets that
   * neither of the two decrypts.
   */
  async encryptAgain(): Promise<number> {
    let after_id = firstId;
    for (;;) {
      const batch = await this.factors.listOutdated(this.secrets.keyId, after_id, batchMax);
      const renewed = batch.flatMap(({ secret: before, ...owner }): RenewedSecret[] => {
        const secret = this.secrets.decrypt(owner, before);
        return secret === null ? [] : [{ ...owner, before, after: this.secrets.encrypt(owner, secret) }];
      });
      if (renewed.length > 0) await this.factors.replaceSecrets(renewed);
      if (batch.length < batchMax) return this.factors.countOutdated(this.secrets.keyId);
      after_id = batch.at(-1)?.factor_id ?? firstId;
    }
  }

  private summary(user_id: string): Promise<FactorSummary> {
    return this.factors.summary(user_id, this.config.WEBAUTHN_RP_ID);
  }

  private stepOf(user_id: string, { factor_id, secret, step }: TotpSecret, code: string): number | null {
    const decrypted = this.secrets.decrypt({ user_id, factor_id }, secret);
    if (decrypted === null) {
      this.logger.error({ msg: 'factors: cannot decrypt a secret: APP_SECRET or the row changed', factor_id });
      return null;
    }
    return matchingStep(decrypted, code, step);
  }
}
