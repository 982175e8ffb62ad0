import { Injectable } from '@nestjs/common';
import type { Caller } from '../access/actor';
import { addressKey } from '../common/ip';
import { type LoginCounter, LoginAttemptsService } from '../credentials/login-attempts.service';
import { type LoggedInUser, EnrollmentCodeChecksService } from './factors/enrollment-code-checks.service';
import { SecurityMailsService } from '../user-mails/security-mails.service';

/** Makes the addresses of logins known, and sends the mails that a login causes. */
@Injectable()
export class LoginNoticesService {
  constructor(
    private readonly attempts: LoginAttemptsService,
    private readonly mails: SecurityMailsService,
    private readonly enrollmentCodes: EnrollmentCodeChecksService,
  ) {}

  /**
   * Closes the attempt of a login and makes its address known for 30 days. Mails the user if the
   * address is new, except at the first login. Call it before the login is noted on the user.
   * @param attempt null for a login without a password, which resets no counter
   */
  async noteAddress(user_id: string, counter: LoginCounter | null, caller: Caller): Promise<void> {
    const address = caller.ip === null ? null : addressKey(caller.ip);
    const isNew =
      counter === null
        ? address !== null && (await this.attempts.know(user_id, address))
        : await this.attempts.pass(counter, address);
    if (isNew) await this.mails.newAddressLogin(caller, user_id);
  }

  /** Mails a code to a user who needs one to enrol the first factor. */
  async mailEnrollmentCode(user: LoggedInUser, caller: Caller): Promise<void> {
    await this.enrollmentCodes.request(user, caller);
  }
}
