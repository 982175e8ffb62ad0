import { Injectable } from '@nestjs/common';
import { AppError } from '../common/errors/app-error';
import { CredentialsService } from '../credentials/credentials.service';
import { MailService } from '../mail/mail.service';

/**
 * Mints links that are shown on the terminal instead of being mailed.
 * Using a shown link does not confirm an address. No mailed link replaces a shown link.
 */
@Injectable()
export class ShownLinks {
  constructor(
    private readonly credentials: CredentialsService,
    private readonly mail: MailService,
  ) {}

  /**
   * Returns a link with which a user sets a password.
   * @throws user.not_found if the user was disabled or deleted
   */
  async mint(user_id: string): Promise<string> {
    const token = await this.credentials.mintToken(user_id, 'shown', '');
    if (token === null) throw new AppError('user.not_found');
    return this.mail.resetLink(token);
  }
}
