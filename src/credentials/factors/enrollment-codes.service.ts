import { randomInt } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { createKeyedHash, deriveKey } from '../../common/random';
import { CONFIG, type Config } from '../../config/config';
import { EnrollmentCodesRepository } from './enrollment-codes.repository';

/** Seconds for which a mailed code is valid. */
export const enrollmentCodeSeconds = 900;
const digits = 8;
const codeForm = /^[0-9]{8}$/;
const wrongCodesMax = 5;

/** Manages the mailed codes that users need to enrol their first factor (M10). */
@Injectable()
export class EnrollmentCodesService {
  private readonly hashKey: Buffer;

  constructor(
    private readonly codes: EnrollmentCodesRepository,
    @Inject(CONFIG) config: Config,
  ) {
    this.hashKey = deriveKey(config.APP_SECRET, 'enrollment-codes');
  }

  /**
   * Requests a code for a user who logged in. Returns whether to mail it: at most once in 5
   * minutes, and not to a user who followed a link within the last hour.
   */
  request(user_id: string): Promise<boolean> {
    return this.codes.request(user_id);
  }

  /** Makes users whose factors were reset need a code to enrol the next first factor. */
  async demand(user_ids: string[]): Promise<void> {
    await this.codes.demand(user_ids);
  }

  /**
   * Returns whether a code is right. A code can be used until it expires, for example for another
   * attempt to enrol, but not after 5 wrong codes. Call it outside a transaction that may abort.
   */
  async accept(user_id: string, code: string): Promise<boolean> {
    const plain = code.replaceAll(/[ -]/g, '');
    return codeForm.test(plain) && this.codes.accept(user_id, this.hash(user_id, plain), wrongCodesMax);
  }

  async delete(user_id: string): Promise<void> {
    await this.codes.delete(user_id);
  }

  /**
   * Mints the code of a user who requested one, and voids the older code. Call it when the mail is
   * sent. Returns null if no code was requested, or if it is no longer needed.
   */
  async mint(user_id: string): Promise<string | null> {
    const code = String(randomInt(10 ** digits)).padStart(digits, '0');
    const stored = await this.codes.put(user_id, this.hash(user_id, code), enrollmentCodeSeconds);
    return stored ? code : null;
  }

  /** Hashes a code with a key, because eight digits of a dump could be guessed otherwise. */
  private hash(user_id: string, code: string): Buffer {
    return createKeyedHash(this.hashKey).update(`${user_id}:${code}`).digest();
  }
}
