import { Injectable } from '@nestjs/common';
import { AppError } from '../common/errors/app-error';
import { CredentialsService } from '../credentials/credentials.service';
import { MailService } from '../mail/mail.service';

/**
 * Links that are shown, not mailed: using one proves no address, and an invitation by mail does not
 * replace it.
 */
@Injectable()
export class ShownLinks {
  constructor(
    private readonly credentials: CredentialsService,
    private readonly mail: MailService,
  ) {}

  /**
   * A link under which a user sets a password. @throws user.not_found when they may not have one
   * any more
   */
  async mint(user_id: string): Promise<string> {
    const token = await this.credentials.mintToken(user_id, 'reset', '');
    if (token === null) throw new AppError('user.not_found');
    return this.mail.resetLink(token);
  }
}
