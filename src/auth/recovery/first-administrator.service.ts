import { Inject, Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { systemActor } from '../../access/actor';
import { AppError } from '../../http/errors/app-error';
import { CONFIG, type Config } from '../../platform/config/config';
import { MailService } from '../../platform/mail/mail.service';
import { CredentialsService } from '../passwords/credentials.service';
import { FactorChangesService } from '../second-factors/factor-changes.service';
import { UserCreationService } from '../../users/user-creation.service';
import { UserPasswordsService } from '../../users/user-passwords.service';
import { UsersService } from '../../users/users.service';
import type { CreateUserRequest, UserResponse } from '../../users/users.dto';

const administratorName = 'administrator';
/** `.invalid` is a reserved domain (RFC 6761): the service sends no mail to it. */
const placeholderEmail = 'administrator@carrier-identity.invalid';

/** Creates the first administrator, and restores access for administrators who cannot log in. */
@Injectable()
export class FirstAdministrator {
  constructor(
    private readonly users: UsersService,
    private readonly creation: UserCreationService,
    private readonly passwords: UserPasswordsService,
    private readonly factors: FactorChangesService,
    private readonly credentials: CredentialsService,
    private readonly mail: MailService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Creates the first administrator if there is no user, not even a deleted user.
   * There is no default password.
   * @returns a one-time link to set the password, or null if `ADMIN_PASSWORD` sets it
   */
  async ensure(): Promise<string | null> {
    if (!(await this.passwords.isEmpty())) return null;
    const { ADMIN_PASSWORD: password } = this.config;
    if (password === undefined) return this.createWithLink();
    // Outside a transaction, because the password is looked up and hashed. If another instance
    // creates the administrator at the same time, the unique name rejects one of them.
    await this.create({ password, must_change_password: false }).catch(async (error: unknown) => {
      if (await this.passwords.isEmpty()) throw error;
    });
    return null;
  }

  /** Returns whether the first administrator has not set a password yet. */
  async isInvited(): Promise<boolean> {
    return (await this.passwords.findByLogin(administratorName))?.status === 'invited';
  }

  /**
   * Returns a one-time link to set the password of an administrator, and clears `allowed_ips`.
   * The link expires like any other link.
   * @param reset_factors also removes the second factors of the administrator
   * @throws user.not_found
   */
  @Transactional()
  async recover(login: string, reset_factors = false): Promise<string> {
    const user = await this.passwords.findAdministrator(login);
    if (user === null || user.status === 'disabled') throw new AppError('user.not_found');
    await this.users.change(systemActor, user.user_id, { allowed_ips: [] }, null);
    if (reset_factors) await this.factors.reset(systemActor, user.user_id);
    return this.mintLink(user.user_id);
  }

  @Transactional()
  private async createWithLink(): Promise<string | null> {
    // Checks again: within a transaction, `isEmpty` keeps other instances from creating a user.
    if (!(await this.passwords.isEmpty())) return null;
    const { user_id } = await this.create({});
    return this.mintLink(user_id);
  }

  /**
   * Mints a link that is shown on the terminal instead of being mailed. Using it does not confirm
   * an address, and no mailed link replaces it.
   */
  private async mintLink(user_id: string): Promise<string> {
    const token = await this.credentials.mintToken(user_id, 'shown', '');
    if (token === null) throw new AppError('user.not_found');
    return this.mail.resetLink(token);
  }

  private create(secret: Pick<CreateUserRequest, 'password' | 'must_change_password'>): Promise<UserResponse> {
    const { ADMIN_EMAIL: email = placeholderEmail } = this.config;
    const roles = ['administrator'];
    return this.creation.create(systemActor, { user_type: 'system', name: administratorName, email, roles, ...secret });
  }
}
