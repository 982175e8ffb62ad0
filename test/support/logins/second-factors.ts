import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { hashToken, newId } from '../../../src/platform/random';
import { FactorSecrets } from '../../../src/auth/second-factors/factor-secrets';
import { appSecret, password, type TestService } from '../service';

/** Runs queries. */
type Rows = Pick<TestService, 'rows'>;

/** An authenticator app of a user. */
export class Authenticator {
  private constructor(
    private readonly service: Rows,
    private readonly user_id: string,
    private readonly secret: Buffer,
  ) {}

  /** Stores a confirmed authenticator app, as after an enrolment with another session. */
  static async enrol(service: Rows, user_id: string): Promise<Authenticator> {
    const factor_id = newId();
    const secret = randomBytes(20);
    const sealed = new FactorSecrets({ APP_SECRET: appSecret, APP_SECRET_PREVIOUS: undefined }).encrypt(
      { user_id, factor_id },
      secret,
    );
    await service.rows(
      `
        insert into second_factors (factor_id, user_id, kind, name, confirmed_at, secret)
        values ($1, $2, 'totp', 'phone', now(), $3)`,
      [factor_id, user_id, sealed],
    );
    return new Authenticator(service, user_id, secret);
  }

  /** Returns the code of the current step, or of a step before or after it. */
  code(offset = 0): string {
    const secret = new Secret({ buffer: Uint8Array.from(this.secret).buffer });
    return TOTP.generate({ secret, timestamp: Date.now() + offset * 30_000 });
  }

  /** Returns six digits that are no code of the steps around now. */
  wrongCode(): string {
    const near = [-2, -1, 0, 1, 2].map((offset) => this.code(offset));
    const candidates = ['000000', '111111', '222222', '333333', '444444', '555555'];
    return candidates.find((candidate) => !near.includes(candidate)) ?? '';
  }

  /** Makes the current code work again, as if 90 seconds had passed. */
  async passTime(): Promise<void> {
    await this.service.rows('delete from totp_steps where user_id = $1', [this.user_id]);
  }

  /** Stores a recovery code, and returns it. */
  async recoveryCode(): Promise<string> {
    const code = new Secret({ buffer: Uint8Array.from(randomBytes(15)).buffer }).base32;
    await this.service.rows('insert into recovery_codes (code_hash, user_id) values ($1, $2)', [
      hashToken(code),
      this.user_id,
    ]);
    return code;
  }
}

/** Enters the right password of a user with a second factor, and returns the challenge. */
export async function firstStep(service: Pick<TestService, 'post'>, login: string, ip?: string): Promise<string> {
  const { status, body, text } = await service.post('/auth/login', {
    body: { login, password },
    ...(ip === undefined ? {} : { ip }),
  });
  if (status !== 401 || body.code !== 'auth.second_factor_required') throw new Error(`first step: ${text}`);
  return body.challenge as string;
}
