import { Inject, Injectable } from '@nestjs/common';
import type { FactorKind } from '../../access/actor';
import { CONFIG, type Config } from '../../config/config';
import { FactorSecrets } from './factor-secrets';
import { FactorsRepository } from './factors.repository';
import { hashRecoveryCode } from './recovery-codes';
import { matchingStep } from './totp';

/** What can complete a login after the password. */
export type FactorMethod = FactorKind | 'recovery_code';

/** Manages second factors and recovery codes. Knows users by id only. */
@Injectable()
export class FactorsService {
  private readonly secrets: FactorSecrets;

  constructor(
    private readonly factors: FactorsRepository,
    @Inject(CONFIG) config: Config,
  ) {
    this.secrets = new FactorSecrets(config);
  }

  /**
   * Returns what can complete a login of a user; empty without a confirmed factor. Recovery codes
   * are included while some are left.
   */
  async available(user_id: string): Promise<FactorMethod[]> {
    const { kinds, recovery_codes_left } = await this.factors.summary(user_id);
    return kinds.length > 0 && recovery_codes_left > 0 ? [...kinds, 'recovery_code'] : kinds;
  }

  /**
   * Accepts a code of one of the user's authenticator apps. Returns the id of the factor. Returns
   * null for a wrong code, and for a code of a step that is not later than the last accepted step
   * (RFC 6238 §5.2, M1).
   */
  async acceptTotp(user_id: string, code: string): Promise<string | null> {
    let accepted: { factor_id: string; step: number } | null = null;
    // Checks all factors, so that the time does not reveal which one matched.
    for (const { factor_id, secret, step } of await this.factors.listSecrets(user_id)) {
      const decrypted = this.secrets.decrypt({ user_id, factor_id }, secret);
      const matching = decrypted === null ? null : matchingStep(decrypted, code, step);
      if (matching !== null && matching > (accepted?.step ?? 0)) accepted = { factor_id, step: matching };
    }
    if (accepted === null) return null;
    const { factor_id, step } = accepted;
    return (await this.factors.acceptStep(user_id, factor_id, step)) ? factor_id : null;
  }

  /**
   * Uses a recovery code. Returns the number of codes that are left, or null for an unknown code.
   * Only one of several concurrent requests with the same code succeeds.
   */
  async useRecoveryCode(user_id: string, code: string): Promise<number | null> {
    const code_hash = hashRecoveryCode(code);
    return code_hash === null ? null : this.factors.deleteCode(user_id, code_hash);
  }
}
