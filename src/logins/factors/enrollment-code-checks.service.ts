import { Injectable } from '@nestjs/common';
import type { Actor, Caller } from '../../access/actor';
import { AppError } from '../../common/errors/app-error';
import { EnrollmentCodesService } from '../../credentials/factors/enrollment-codes.service';
import { SecurityMailsService } from '../../user-mails/security-mails.service';
import { FactorOwnersRepository } from './factor-owners.repository';

/** A user who has just logged in. */
export interface LoggedInUser {
  user_id: string;
  must_enroll_second_factor: boolean;
  /** the factors of the user were reset, and the user has enrolled none since */
  factors_were_reset: boolean;
}

/**
 * Asks users who must enrol a second factor, or whose factors were reset, for a mailed code before
 * they enrol the first one. Otherwise a caller who knows only the password of the user could enrol
 * another device (M10).
 */
@Injectable()
export class EnrollmentCodeChecksService {
  constructor(
    private readonly owners: FactorOwnersRepository,
    private readonly codes: EnrollmentCodesService,
    private readonly mails: SecurityMailsService,
  ) {}

  /** Mails a code to a user who needs one. Call it in the transaction of each login. */
  async request(user: LoggedInUser, caller: Caller): Promise<void> {
    const { user_id, must_enroll_second_factor, factors_were_reset } = user;
    if (!must_enroll_second_factor && !factors_were_reset) return;
    if (await this.codes.request(user_id)) await this.mails.enrollmentCode(caller, user_id);
  }

  /**
   * Checks the mailed code of an actor who is about to enrol the first factor. Call it before the
   * transaction of the enrolment, so that a wrong code counts.
   * @throws auth.mail_code_required
   */
  async check({ user_id }: Actor, mail_code: string | undefined): Promise<void> {
    if (!(await this.owners.needsMailCode(user_id))) return;
    if (mail_code === undefined || !(await this.codes.accept(user_id, mail_code)))
      throw new AppError('auth.mail_code_required');
  }

  /** Deletes the code of a user who enrolled the first factor. */
  async forget(user_id: string): Promise<void> {
    await this.codes.delete(user_id);
  }
}
