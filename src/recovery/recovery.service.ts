import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, type Caller, systemActorFor } from '../access/actor';
import { AppError } from '../common/errors/app-error';
import type { Answered } from '../common/times';
import { CredentialsService } from '../credentials/credentials.service';
import { JobsService } from '../jobs/jobs.service';
import { ConflictLimitService } from '../rate-limits/conflict-limit.service';
import { UserPasswordsService } from '../users/user-passwords.service';
import { UsersService } from '../users/users.service';
import type { UserResponse } from '../users/users.dto';
import type { LinkResponse } from '../auth/auth.dto';
import { AuthService } from '../auth/auth.service';
import { resetJob } from './reset-requests.service';

/** Sets passwords and confirms e-mail addresses by mailed link. */
@Injectable()
export class RecoveryService {
  constructor(
    private readonly credentials: CredentialsService,
    private readonly passwords: UserPasswordsService,
    private readonly users: UsersService,
    private readonly auth: AuthService,
    private readonly jobs: JobsService,
    private readonly conflicts: ConflictLimitService,
  ) {}

  /**
   * Enqueues a job that looks up the user later.
   * Known and unknown addresses get the same response after the same work (OWASP Forgot Password;
   * ASVS 6.3.8).
   */
  async requestReset(email: string, { ip, request_id }: Caller): Promise<void> {
    await this.jobs.enqueue(resetJob, { email, ip, request_id });
  }

  /** Returns the user of a link, or null if the link is not valid. Does not use up the link. */
  async holderOf(token: string, purposes: ('reset' | 'invite' | 'email')[]): Promise<Answered<UserResponse> | null> {
    const link = await this.credentials.findToken(token, purposes);
    return link === null ? null : this.passwords.find(link.user_id);
  }

  /** Checks a link to set a password without using it up. @throws reset.token_invalid */
  async checkReset(token: string): Promise<LinkResponse> {
    const link = await this.credentials.findToken(token, ['reset', 'invite']);
    if (link === null) throw new AppError('reset.token_invalid');
    return { expires_at: link.expires_at };
  }

  /**
   * Sets the password of the user of a link. A rejected password does not use up the link.
   * @throws reset.token_invalid, request.invalid, request.rate_limited
   */
  async reset(token: string, password: string, caller: Caller): Promise<void> {
    const user = await this.holderOf(token, ['reset', 'invite']);
    if (user === null) throw new AppError('reset.token_invalid');
    // The hash takes a place in the share of the link's user: one link cannot fill the queue (L21).
    const actor = { actor_type: 'user' as const, user_id: user.user_id };
    const checked = await this.credentials.checkNewPassword(password, user);
    const password_hash = await this.credentials.hashNewPassword(checked, actor);
    await this.useReset(token, password_hash, caller);
  }

  /** Checks a link to confirm an address without using it up. @throws email.token_invalid */
  async checkEmail(token: string): Promise<LinkResponse> {
    const link = await this.credentials.findToken(token, ['email']);
    if (link === null) throw new AppError('email.token_invalid');
    return { expires_at: link.expires_at };
  }

  /**
   * Confirms exactly the address that the link was mailed to (Devise CVE-2026-32700).
   * @throws email.token_invalid, user.email_taken
   */
  async confirmEmail(token: string, caller: Caller): Promise<void> {
    const link = await this.credentials.findToken(token, ['email']);
    if (link === null) throw new AppError('email.token_invalid');
    const holder: Actor = { ...systemActorFor(caller), actor_type: 'user', user_id: link.user_id, permissions: [] };
    await this.conflicts.limit(holder, () => this.useConfirmation(token, caller));
  }

  /** Proposes a new address for the actor's own user. @throws auth.wrong_current_password */
  async proposeEmail(actor: Actor, email: string, current_password: string): Promise<void> {
    const verified = await this.auth.verifyOwn(actor, current_password);
    await this.users.proposeEmail(actor, email, verified.password_changed_at);
  }

  @Transactional()
  private async useConfirmation(token: string, caller: Caller): Promise<void> {
    const link = await this.credentials.consumeToken(token, ['email']);
    if (link === null) throw new AppError('email.token_invalid');
    await this.passwords.confirmEmail(systemActorFor(caller), link.user_id, link.email);
  }

  @Transactional()
  private async useReset(token: string, password_hash: string, caller: Caller): Promise<void> {
    const link = await this.credentials.consumeToken(token, ['reset', 'invite']);
    if (link === null) throw new AppError('reset.token_invalid');
    await this.passwords.setPassword(systemActorFor(caller), link.user_id, password_hash, {
      event: 'password.reset',
      proven_email: link.email,
      first: link.purpose === 'invite',
    });
  }
}
