import { randomInt } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Actor, Caller } from '../../../access/actor';
import { AppError } from '../../../http/errors/app-error';
import { createKeyedHash, deriveKey } from '../../../platform/random';
import { CONFIG, type Config } from '../../../platform/config/config';
import { SecurityMailsService } from '../../../users/mails/security-mails.service';
import type { NotedLogin } from '../../login/logins.repository';
import { EnrollmentCodesRepository } from './enrollment-codes.repository';

/** Seconds for which a mailed code is valid. */
export const enrollmentCodeSeconds = 900;
const digits = 8;
const codeForm = /^[0-9]{8}$/;
const wrongCodesMax = 5;

/**
 * Asks users who must enrol a second factor, or whose factors were reset, for a mailed code before
 * they enrol the first one. Otherwise a caller who knows only the password of the user could enrol
 * another device (M10).
 */
@Injectable()
export class EnrollmentCodesService {
  private readonly hashKey: Buffer;

  constructor(
    private readonly codes: EnrollmentCodesRepository,
    private readonly mails: SecurityMailsService,
    @Inject(CONFIG) config: Config,
  ) {
    this.hashKey = deriveKey(config.APP_SECRET, 'enrollment-codes');
  }

  /**
   * Mails a code to a user who needs one: at most once in 5 minutes, and not to a user who followed
   * a link within the last hour. Call it in the transaction of each login.
   */
  async request({ user_id, must_enroll_second_factor, factors_were_reset }: NotedLogin, caller: Caller): Promise<void> {
    if (!must_enroll_second_factor && !factors_were_reset) return;
    if (await this.codes.request(user_id)) await this.mails.enrollmentCode(caller, user_id);
  }

  /**
   * Checks the mailed code of an actor who is about to enrol the first factor. A code stays valid
   * until it expires, so that the actor can repeat the enrolment. 5 wrong codes invalidate it.
   * Call it before the transaction of the enrolment, so that a wrong code counts.
   * @throws auth.mail_code_required
   */
  async check({ user_id }: Actor, mail_code = ''): Promise<void> {
    if (!(await this.codes.isNeeded(user_id))) return;
    const code = mail_code.replaceAll(/[ -]/g, '');
    const isRight = codeForm.test(code) && (await this.codes.accept(user_id, this.hash(user_id, code), wrongCodesMax));
    if (!isRight) throw new AppError('auth.mail_code_required');
  }

  /** Deletes the code of a user who enrolled the first factor. */
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
