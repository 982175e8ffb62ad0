import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, selfOf } from '../../access/actor';
import { AppError, invalid } from '../../http/errors/app-error';
import { LoginAttemptsService } from '../passwords/login-attempts.service';
import { FactorsService } from './factors.service';
import type { FactorRecord } from './factors.repository';
import { EventsService } from '../../audit/events.service';
import { SecurityMailsService } from '../../users/mails/security-mails.service';
import { UsersService } from '../../users/users.service';
import { eventBase } from '../../audit/event-base';
import { LoginChallengesRepository } from '../login/login-challenges.repository';
import { SessionsService } from '../sessions/sessions.service';
import { type FactorOwner, FactorOwnersRepository } from './factor-owners.repository';
import {
  type FactorListResponse,
  type FactorResponse,
  type RecoveryCodesResponse,
  toFactorResponse,
} from './factors.dto';

/** Lists, renames, removes and resets second factors. */
@Injectable()
export class FactorChangesService {
  constructor(
    private readonly owners: FactorOwnersRepository,
    private readonly challenges: LoginChallengesRepository,
    private readonly sessions: SessionsService,
    private readonly factors: FactorsService,
    private readonly users: UsersService,
    private readonly events: EventsService,
    private readonly mails: SecurityMailsService,
    private readonly attempts: LoginAttemptsService,
  ) {}

  async listOwn({ user_id }: Actor): Promise<FactorListResponse> {
    const { factors, recovery_codes_left } = await this.factors.list(user_id);
    return { items: factors.map(toFactorResponse), recovery_codes_left };
  }

  /** Lists the confirmed factors of a user within the scope. @throws user.not_found */
  async listOf(actor: Actor, user_id: string): Promise<FactorListResponse> {
    await this.users.get(actor, user_id);
    const { factors, recovery_codes_left } = await this.factors.list(user_id);
    return { items: factors.filter(({ confirmed }) => confirmed).map(toFactorResponse), recovery_codes_left };
  }

  /** Renames a factor of the actor's own user. @throws factor.not_found */
  @Transactional()
  async rename(actor: Actor, factor_id: string, name: string): Promise<FactorResponse> {
    const { user_id, carrier_id } = await this.lock(actor);
    const renamed = await this.factors.rename(user_id, factor_id, name);
    if (renamed === null) throw new AppError('factor.not_found');
    const { kind, previous_name } = renamed;
    if (previous_name !== name)
      await this.events.record(
        actor,
        'factor.renamed',
        { id: user_id, carrier_id },
        { factor_id: { after: factor_id }, kind: { after: kind }, name: { before: previous_name, after: name } },
      );
    return toFactorResponse(renamed);
  }

  /**
   * Removes a factor of the actor's own user, and ends the user's other sessions. Removing an
   * unconfirmed factor has no other effect.
   * @throws factor.not_found
   * @throws factor.required for the last factor of a user who must have one
   */
  @Transactional()
  async remove(actor: Actor, factor_id: string): Promise<void> {
    const { user_id, carrier_id, second_factors, requires_factor } = await this.lock(actor);
    const removed = await this.factors.remove(user_id, factor_id);
    if (removed === null) throw new AppError('factor.not_found');
    if (!removed.confirmed) return;
    if (second_factors.length === 1 && requires_factor) throw new AppError('factor.required');
    await this.noteRemoved(actor, { user_id, carrier_id }, removed);
  }

  /**
   * Replaces the recovery codes of the actor's own user.
   * @throws factor.not_found without a factor
   */
  @Transactional()
  async renewRecoveryCodes(actor: Actor): Promise<RecoveryCodesResponse> {
    const { user_id, carrier_id, second_factors } = await this.lock(actor);
    if (second_factors.length === 0) throw new AppError('factor.not_found');
    const recovery_codes = await this.factors.renewRecoveryCodes(user_id);
    await this.events.record(actor, 'factor.recovery_codes_renewed', { id: user_id, carrier_id });
    await this.mails.recoveryCodesRenewed(actor, user_id, recovery_codes.length);
    return { recovery_codes };
  }

  /**
   * Removes all factors and recovery codes of another user, and ends the user's sessions. Does
   * nothing if the user has no confirmed factor.
   * @throws user.not_found, access.protected_user, user.self_protected
   */
  @Transactional()
  async reset(actor: Actor, user_id: string): Promise<void> {
    await this.lockOther(actor, user_id);
    await this.removeAll(actor, [user_id], null);
  }

  /**
   * Removes a confirmed factor and the recovery codes of another user, and ends the user's
   * sessions. Removing the last one resets the factors.
   * @throws user.not_found, access.protected_user, user.self_protected, factor.not_found
   */
  @Transactional()
  async removeOf(actor: Actor, user_id: string, factor_id: string): Promise<void> {
    const owner = await this.lockOther(actor, user_id);
    const confirmed = (await this.factors.list(user_id)).factors.filter((one) => one.confirmed);
    const factor = confirmed.find((found) => found.factor_id === factor_id);
    if (factor === undefined) throw new AppError('factor.not_found');
    if (confirmed.length === 1) return this.removeAll(actor, [user_id], null);
    await this.factors.remove(user_id, factor_id);
    await this.factors.voidRecoveryCodes(user_id);
    await this.noteRemoved(actor, owner, factor);
  }

  /**
   * Removes all factors and recovery codes of locked users, unlocks their codes and ends their
   * sessions. Does nothing for users without a confirmed factor. Checks no permission and no rule.
   * @param operation_id operation that the events belong to
   */
  async removeAll(actor: Actor, user_ids: string[], operation_id: string | null): Promise<void> {
    const kinds = new Map<string, string[]>();
    for (const { user_id, kind } of await this.factors.removeAll(user_ids))
      kinds.set(user_id, [...(kinds.get(user_id) ?? []), kind]);
    if (kinds.size === 0) return;
    const reset_ids = [...kinds.keys()];
    await this.attempts.clearCodes(reset_ids);
    await this.endLogins(actor, reset_ids);
    const resets = [...kinds].map(([user_id, before]) => ({ user_id, changes: { kinds: { before, after: [] } } }));
    await this.owners.recordResets(eventBase(actor, 'factor.reset', { operation_id }), resets);
    await this.mails.factorsReset(actor, reset_ids);
  }

  /**
   * Removes the chosen factors of a user whose account is secured. The user must be locked. Records
   * no event and ends no session. Returns the removed factors.
   * @throws request.invalid if the user has factors and `choice` is missing, or `choice` names an
   * unknown factor
   */
  async removeChosen(actor: Actor, user_id: string, choice: FactorChoice | undefined): Promise<FactorRecord[]> {
    const confirmed = (await this.factors.list(user_id)).factors.filter((one) => one.confirmed);
    const all = choice === 'remove_all' ? confirmed.map(({ factor_id }) => factor_id) : [];
    const ids = Array.isArray(choice) ? choice.map((id) => id.toLowerCase()) : all;
    const chosen = confirmed.filter(({ factor_id }) => ids.includes(factor_id));
    if ((choice === undefined && confirmed.length > 0) || chosen.length < ids.length)
      throw invalid({ pointer: '/factors', code: 'field.required', detail: 'must state which factors to remove' });
    if (chosen.length === 0) return [];
    if (chosen.length === confirmed.length) {
      await this.factors.removeAll([user_id]);
      await this.attempts.clearCodes([user_id]);
      await this.mails.factorsReset(actor, [user_id]);
      return chosen;
    }
    await this.factors.voidRecoveryCodes(user_id);
    for (const { factor_id, kind } of chosen) {
      await this.factors.remove(user_id, factor_id);
      await this.mails.factorRemoved(actor, user_id, kind, factor_id);
    }
    return chosen;
  }

  /**
   * Locks the actor's own user, so that changes of factors and logins run one after the other.
   * @throws auth.token_invalid if the session has ended
   */
  async lock({ user_id, session_id }: Actor): Promise<FactorOwner> {
    const owner = await this.owners.lock(user_id, session_id);
    if (owner === null) throw new AppError('auth.token_invalid');
    return owner;
  }

  private async lockOther(actor: Actor, user_id: string): Promise<FactorUser> {
    const user = await this.users.lock(actor, user_id);
    if (selfOf(actor) === user_id) throw new AppError('user.self_protected');
    return user;
  }

  /** Ends the logins of a user whose factor was removed, records it and notifies the user. */
  private async noteRemoved(actor: Actor, { user_id, carrier_id }: FactorUser, factor: FactorRecord): Promise<void> {
    const { factor_id, kind, name } = factor;
    await this.endLogins(actor, [user_id]);
    const changes = { factor_id: { before: factor_id }, kind: { before: kind }, name: { before: name } };
    await this.events.record(actor, 'factor.removed', { id: user_id, carrier_id }, changes);
    await this.mails.factorRemoved(actor, user_id, kind, factor_id);
  }

  /** Ends the sessions and the unfinished logins of users, except the session of the actor. */
  private async endLogins(actor: Actor, user_ids: string[]): Promise<void> {
    await this.challenges.endOf(user_ids);
    await this.sessions.endOf(actor, user_ids, 'factors_changed', actor.session_id);
  }
}

/** Which second factors of a user are removed: none, all or some. */
export type FactorChoice = 'keep' | 'remove_all' | string[];

type FactorUser = Pick<FactorOwner, 'user_id' | 'carrier_id'>;
