import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { CONFIG, type Config } from '../../config/config';
import { JobsService } from '../../jobs/jobs.service';
import { FactorSecrets } from './factor-secrets';
import { FactorUpkeepRepository, type RenewedSecret, type StoredSecret } from './factor-upkeep.repository';

/** Number of factors that one short transaction changes. */
const batchMax = 500;
const firstId = '00000000-0000-0000-0000-000000000000';

/** Removes expired factors, and encrypts secrets again after a change of `APP_SECRET`. */
@Injectable()
export class FactorUpkeepService implements OnModuleInit {
  private readonly secrets: FactorSecrets;

  constructor(
    private readonly factors: FactorUpkeepRepository,
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

  async removeExpired(): Promise<void> {
    while ((await this.factors.removeExpired(batchMax)) === batchMax);
  }

  /**
   * Encrypts the secrets of `APP_SECRET_PREVIOUS` with `APP_SECRET`, in batches. May be killed at
   * any time: the next run finds the secrets that are left. Returns the number of secrets that can
   * be decrypted with neither of them.
   */
  async encryptAgain(): Promise<number> {
    let after_id = firstId;
    for (;;) {
      const batch = await this.factors.listOutdated(this.secrets.keyId, after_id, batchMax);
      const renewed = batch.map((stored) => this.renew(stored)).filter((secret) => secret !== null);
      if (renewed.length > 0) await this.factors.replaceSecrets(renewed);
      if (batch.length < batchMax) return this.factors.countOutdated(this.secrets.keyId);
      after_id = batch.at(-1)?.factor_id ?? firstId;
    }
  }

  private renew({ factor_id, user_id, secret: before }: StoredSecret): RenewedSecret | null {
    const owner = { user_id, factor_id };
    const secret = this.secrets.decrypt(owner, before);
    return secret === null ? null : { factor_id, before, after: this.secrets.encrypt(owner, secret) };
  }
}
