import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, type Caller, systemActorFor } from '../../access/actor';
import { callerFor } from '../../access/portal';
import { ApiKeysService } from '../../access/api-keys/api-keys.service';
import { AppError } from '../../http/errors/app-error';
import type { Answered } from '../../platform/times';
import { CredentialsService } from '../passwords/credentials.service';
import type { LiveToken } from '../passwords/credentials.repository';
import { ConflictLimitService } from '../../access/rate-limits/conflict-limit.service';
import { UserPasswordsService } from '../../users/user-passwords.service';
import { UsersService } from '../../users/users.service';
import type { UserResponse } from '../../users/users.dto';
import type { LinkResponse, ResetLinkResponse } from '../auth.dto';
import { LoginsService } from '../login/logins.service';
import { EventsService } from '../../audit/events.service';
import { FactorsService } from '../second-factors/factors.service';
import { WebhooksService } from '../../webhooks/webhooks.service';

/** Purposes of links that set a password. */
const resetPurposes: LiveToken['purpose'][] = ['reset', 'invite', 'shown', 'not_me'];

/** The user of a valid link, with the purpose of the link. */
type Holder = Answered<UserResponse> & Pick<LiveToken, 'purpose'>;

/** Sets passwords and confirms e-mail addresses by mailed link. */
@Injectable()
export class RecoveryService {
  constructor(
    private readonly credentials: CredentialsService,
    private readonly passwords: UserPasswordsService,
    private readonly users: UsersService,
    private readonly logins: LoginsService,
    private readonly apiKeys: ApiKeysService,
    private readonly webhooks: WebhooksService,
    private readonly factors: FactorsService,
    private readonly events: EventsService,
    private readonly conflicts: ConflictLimitService,
  ) {}

  /** Returns the user of a link, or null if the link is not valid. Does not use up the link. */
  async holderOf(token: string, sets: 'password' | 'email'): Promise<Holder | null> {
    const link = await this.credentials.findToken(token, sets === 'email' ? ['email'] : resetPurposes);
    const user = link === null ? null : await this.passwords.find(link.user_id);
    return link === null || user === null ? null : { ...user, purpose: link.purpose };
  }

  /** Checks a link to set a password without using it up. @throws reset.token_invalid */
  async checkReset(token: string): Promise<ResetLinkResponse> {
    const link = await this.credentials.findToken(token, resetPurposes);
    if (link === null) throw new AppError('reset.token_invalid');
    const { purpose, expires_at } = link;
    return { kind: purpose === 'not_me' ? purpose : purpose === 'invite' ? 'invitation' : 'reset', expires_at };
  }

  /**
   * Sets the password of the user of a link. A rejected password does not use up the link.
   * @throws reset.token_invalid, request.invalid, request.rate_limited
   * @throws user.email_taken if a `not_me` link cannot restore the address
   */
  async reset(token: string, password: string, caller: Caller): Promise<void> {
    const user = await this.holderOf(token, 'password');
    if (user === null) throw new AppError('reset.token_invalid');
    // The hash takes a place in the share of the link's user: one link cannot fill the queue (L21).
    const actor = { actor_type: 'user' as const, user_id: user.user_id };
    const checked = await this.credentials.checkNewPassword(password, user);
    const password_hash = await this.credentials.hashNewPassword(checked, actor);
    const origin = callerFor(caller, user);
    const use = () => this.useReset(token, password_hash, origin);
    await (user.purpose === 'not_me' ? this.conflicts.limit(proberOf(user, origin), use) : use());
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
    await this.conflicts.limit(proberOf(link, caller), () => this.useConfirmation(token, caller));
  }

  /**
   * Proposes a new address for the actor's own user.
   * @throws auth.wrong_current_password, request.rate_limited
   */
  async proposeEmail(actor: Actor, email: string, current_password: string): Promise<void> {
    await this.conflicts.assertOpen(actor);
    const verified = await this.logins.verifyOwn(actor, current_password);
    await this.users.proposeEmail(actor, email, verified.password_changed_at);
  }

  /** Cancels the proposed address of the actor's own user. Does nothing without one. */
  cancelEmail(actor: Actor): Promise<void> {
    return this.users.cancelEmail(actor);
  }

  @Transactional()
  private async useConfirmation(token: string, caller: Caller): Promise<void> {
    const link = await this.credentials.consumeToken(token, ['email']);
    if (link === null) throw new AppError('email.token_invalid');
    await this.passwords.confirmEmail(systemActorFor(caller), link.user_id, link.email);
  }

  @Transactional()
  private async useReset(token: string, password_hash: string, caller: Caller): Promise<void> {
    const link = await this.credentials.consumeToken(token, resetPurposes);
    const user = link === null ? null : await this.passwords.find(link.user_id);
    if (link === null || user === null) throw new AppError('reset.token_invalid');
    const { purpose, user_id, email } = link;
    const actor = systemActorFor(caller);
    const restores = purpose === 'not_me';
    if (restores) await this.undoTakeover(actor, link, user.carrier_id);
    const received = (await this.apiKeys.listReceived(user_id)).slice(0, 100);
    const keys = received.map(({ key_id, name }) => ({ key_id, name }));
    const changes = {
      ...(restores && user.email !== email ? { email: { before: user.email, after: email } } : {}),
      ...(keys.length > 0 ? { keys: { after: keys } } : {}),
    };
    const how = { event: 'password.reset', proven_email: email, restores, first: purpose === 'invite' } as const;
    await this.passwords.setPassword(actor, user_id, password_hash, { ...how, keys, changes });
  }

  /**
   * Revokes API keys that were created or rotated, disables webhooks and removes factors that were
   * added since the first change of a `not_me` link, and voids the recovery codes.
   * Keeps the new factors if the user had older factors and none is left: a mailed link
   * must not replace a second factor (R25).
   */
  private async undoTakeover(
    actor: Actor,
    { user_id, requested_at, factors }: LiveToken,
    carrier_id: string | null,
  ): Promise<void> {
    for (const { key_id, received_at } of await this.apiKeys.listReceived(user_id))
      if (received_at >= requested_at) await this.apiKeys.revoke(actor, key_id);
    await this.webhooks.disableMadeSince(actor, user_id, requested_at);
    const older = new Set(factors);
    const found = (await this.factors.list(user_id)).factors;
    if (older.size > 0 && !found.some(({ factor_id }) => older.has(factor_id))) return;
    await this.factors.voidRecoveryCodes(user_id);
    for (const { factor_id, kind, name } of found.filter((factor) => !older.has(factor.factor_id))) {
      await this.factors.remove(user_id, factor_id);
      const changes = { factor_id: { before: factor_id }, kind: { before: kind }, name: { before: name } };
      await this.events.record(actor, 'factor.removed', { id: user_id, carrier_id }, changes);
    }
  }
}

/**
 * Returns the actor whose conflicts are counted. Each kind of link of a user has its own counter,
 * so that a thief with a session cannot use up the limit of the owner of the mailbox.
 */
function proberOf({ purpose, user_id }: Pick<LiveToken, 'purpose' | 'user_id'>, caller: Caller): Actor {
  return { ...systemActorFor(caller), actor_type: 'user', user_id: `${purpose} ${user_id}`, permissions: [] };
}
