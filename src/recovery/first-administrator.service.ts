import { Inject, Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { systemActor } from '../access/actor';
import { AppError } from '../common/errors/app-error';
import { CONFIG, type Config } from '../config/config';
import { UserCreationService } from '../users/user-creation.service';
import { UserPasswordsService } from '../users/user-passwords.service';
import { UsersService } from '../users/users.service';
import { ShownLinks } from './shown-links';

const administratorName = 'administrator';
/** `.invalid` belongs to nobody (RFC 6761): no mail is ever sent there. */
const placeholderEmail = 'administrator@carrier-identity.invalid';

/** The way into a new installation, and back into one whose administrators have lost theirs. */
@Injectable()
export class FirstAdministrator {
  constructor(
    private readonly users: UsersService,
    private readonly creation: UserCreationService,
    private readonly logins: UserPasswordsService,
    private readonly links: ShownLinks,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * On a database that has never had a user, creates the first administrator. There is never a
   * default password: it comes from `ADMIN_PASSWORD`, else a one-time link to set it is returned,
   * to be shown to whoever started the service.
   */
  @Transactional()
  async ensure(): Promise<string | null> {
    if (!(await this.logins.isEmpty())) return null;
    const { ADMIN_EMAIL: email = placeholderEmail, ADMIN_PASSWORD: password } = this.config;
    const user = await this.creation.create(systemActor, {
      user_type: 'system',
      name: administratorName,
      email,
      roles: ['administrator'],
      ...(password === undefined ? {} : { password, must_change_password: false }),
    });
    return password === undefined ? this.links.mint(user.user_id) : null;
  }

  /**
   * A one-time link for a user who is an administrator, who may then log in from anywhere. Dies
   * like any other link. @throws user.not_found
   */
  @Transactional()
  async recover(login: string): Promise<string> {
    const user = await this.logins.findAdministrator(login);
    if (user === null || user.status === 'disabled') throw new AppError('user.not_found');
    await this.users.change(systemActor, user.user_id, { allowed_ips: [] }, null);
    return this.links.mint(user.user_id);
  }
}
