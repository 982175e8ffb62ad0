import { Inject, Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { systemActor } from '../access/actor';
import { AppError } from '../common/errors/app-error';
import { CONFIG, type Config } from '../config/config';
import { CredentialsService } from '../credentials/credentials.service';
import { MailService } from '../mail/mail.service';
import { UserLoginsService } from '../users/user-logins.service';
import { UsersService } from '../users/users.service';
import { SigningKeysRepository } from './signing-keys.repository';

const administratorName = 'administrator';
/** `.invalid` belongs to nobody (RFC 6761): no mail is ever sent there. */
const placeholderEmail = 'administrator@carrier-identity.invalid';

/** The way into a new installation, and back into one whose administrators have lost theirs. */
@Injectable()
export class FirstAdministrator {
  constructor(
    private readonly users: UsersService,
    private readonly logins: UserLoginsService,
    private readonly credentials: CredentialsService,
    private readonly mail: MailService,
    private readonly keys: SigningKeysRepository,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * On a database that has never had a user, creates the first administrator. There is never a default password: it
   * comes from `ADMIN_PASSWORD`, else a one-time link to set it is returned, to be shown to whoever started the service.
   */
  @Transactional()
  async ensure(): Promise<string | null> {
    await this.keys.lock();
    if (!(await this.logins.isEmpty())) return null;
    const { ADMIN_EMAIL: email = placeholderEmail, ADMIN_PASSWORD: password } = this.config;
    const user = await this.users.create(systemActor, {
      user_type: 'system',
      name: administratorName,
      email,
      roles: ['administrator'],
      ...(password === undefined ? {} : { password, must_change_password: false }),
    });
    return password === undefined ? this.linkFor(user.user_id) : null;
  }

  /** A one-time link for a user who is an administrator, who may then log in from anywhere. Dies like any other link. @throws user.not_found */
  @Transactional()
  async recover(login: string): Promise<string> {
    const user = await this.logins.findByLogin(login);
    if (user === null || user.status === 'disabled' || !user.roles.includes('administrator')) throw new AppError('user.not_found');
    await this.users.change(systemActor, user.user_id, { allowed_ips: [] }, null);
    return this.linkFor(user.user_id);
  }

  /** The link is shown, not mailed: using it proves no address, and an invitation by mail does not replace it. */
  private async linkFor(user_id: string): Promise<string> {
    const token = await this.credentials.mintToken(user_id, 'reset', '');
    if (token === null) throw new AppError('user.not_found');
    return this.mail.resetLink(token);
  }
}
