import { Injectable } from '@nestjs/common';
import type { Actor } from '../../access/actor';
import { assertFresh } from '../../access/fresh';
import { assertHolds, holds } from '../../access/permissions';
import { mayGiveScope } from '../../access/scope';
import { AppError, invalid } from '../../http/errors/app-error';
import type { ErrorCode } from '../../http/errors/error-codes';
import type { Condition } from '../../http/lists/filter';
import { CredentialsService } from '../../auth/passwords/credentials.service';
import { eventBase } from '../../audit/event-base';
import type { EventType } from '../../audit/event-catalogue';
import { visibleScope } from '../../access/rate-limits/conflict-limit.service';
import { RateLimitsService, selfChangeLimit, selfChangeOf } from '../../access/rate-limits/rate-limits.service';
import { RolesService } from '../../access/roles/roles.service';
import { SessionsService } from '../../auth/sessions/sessions.service';
import { UserMailsService } from '../mails/user-mails.service';
import {
  type ActionOutcome,
  type AppliedAction,
  type ChangeAction,
  type CheckedAction,
  type DeleteAction,
  invites,
  needsFreshAuthentication,
  type PreviewedAction,
  resetsFactors,
  secures,
  touchesPower,
  type UserAction,
  voidsProposals,
} from './user-change';
import { type PreviewedUserResponse, toUserResponse } from '../users.dto';
import { UsersRepository } from '../users.repository';

/** A preview of an action, with some of the users that would change. */
export interface ActionPreview
  extends ActionOutcome, Pick<PreviewedAction, 'would_change' | 'digest' | 'previewed_at'> {
  /** the first 20 users that would change, as they are now; ids only without `user:read` (Z33) */
  sample: PreviewedUserResponse[];
  /** number of invitations, and the estimated seconds until the last of them is sent */
  mails: number;
  mails_seconds: number;
}

/**
 * Applies actions to one user, a batch or all matching users, by the same rules and with the same
 * statement.
 */
@Injectable()
export class UserChangesService {
  constructor(
    private readonly users: UsersRepository,
    private readonly roles: RolesService,
    private readonly sessions: SessionsService,
    private readonly credentials: CredentialsService,
    private readonly limits: RateLimitsService,
    private readonly mails: UserMailsService,
  ) {}

  /**
   * Rejects an action that the actor may not apply to any user, and loads the roles that the actor
   * may grant.
   * @throws request.invalid, access.grant_exceeds_own, access.denied
   */
  async check(actor: Actor, action: UserAction): Promise<CheckedAction> {
    // A leaked API key must not remove the second factor that protects a login (M11).
    if (resetsFactors(action) && actor.actor_type === 'key')
      throw new AppError('access.denied', { detail: 'Resetting factors is not available to API keys.' });
    if (resetsFactors(action)) assertHolds(actor, 'user:reset_factors');
    if (action.kind === 'change') {
      const { roles = [], roles_add = [], roles_remove = [], carrier_scope } = action.change;
      await this.roles.assertMayGive(actor, roles, null);
      await this.roles.assertMayGive(actor, roles_add, null, '/roles_add');
      await this.roles.assertMayGive(actor, roles_remove, null, '/roles_remove');
      if (carrier_scope !== undefined && !mayGiveScope(actor, carrier_scope))
        throw new AppError('access.grant_exceeds_own');
    }
    return { action, grants: await this.roles.grantsOf(actor) };
  }

  /**
   * Returns what an action would do to the users within the actor's scope that match a filter.
   * @param seed seed of the digest of the user ids
   */
  async preview(actor: Actor, checked: CheckedAction, conditions: Condition[], seed: string): Promise<ActionPreview> {
    const { sample_ids, ...found } = await this.users.preview(actor, checked, conditions, seed);
    const mails = invites(checked.action) ? found.would_change : 0;
    const preview = { ...found, mails, mails_seconds: await this.mails.secondsFor(mails) };
    if (!holds(actor.permissions, 'user:read'))
      return { ...preview, sample: sample_ids.map((user_id) => ({ user_id })) };
    const sample = await this.users.listByIds(sample_ids, actor);
    return { ...preview, sample: sample.map(toUserResponse) };
  }

  /**
   * Returns the sorted ids of the users that cannot be restored because a user outside the actor's
   * view has the name or address.
   */
  findHiddenConflicts(actor: Actor, user_ids: string[]): Promise<string[]> {
    return this.users.findHiddenConflicts(user_ids, visibleScope(actor));
  }

  /**
   * Applies an action to users. Ends the sessions that users may no longer have, voids the links of
   * users who are now disabled or deleted, suspends their invitations, restores the links of users
   * who no longer are, and mails invitations. The caller removes the second factors of the users in
   * `reset_ids`, which are locked, and records the event of a single user who is secured. Skips
   * users that a rule protects; ids without a user in the actor's scope are skipped as
   * `user.not_found`. Call it within a transaction.
   * @param operation_id operation that the events belong to
   */
  async apply(
    actor: Actor,
    { action, grants }: CheckedAction,
    user_ids: string[],
    operation_id: string | null = null,
  ): Promise<AppliedAction & { links: Record<string, number> }> {
    // Lock order: roles, administrators, users. A granted role neither disappears nor closes to its
    // new holder before the transaction ends, and two transactions that could remove the last
    // administrator run one after the other (ASVS 15.4.2).
    const checked = {
      action,
      grants: assignsRoles(action) ? await this.roles.frozenGrantsOf(actor, operation_id !== null) : grants,
    };
    const power = action.kind !== 'change' || touchesPower(action.change);
    if (power) await this.users.lockAdministrators(actor, action, user_ids);
    const isRecorded = !secures(action) || operation_id !== null;
    const event = isRecorded ? eventBase(actor, eventTypeOf(action), { operation_id }) : null;
    const applied = await this.users.apply(actor, checked, user_ids, event);
    const { changed_ids, shut_out_ids, let_in_ids } = applied;
    if (changed_ids.length === 0) return { ...applied, links: {} };
    // A proposed address must not receive rights or codes that are newer than the proposal (E30).
    if (voidsProposals(action)) await this.users.dropProposedEmails(changed_ids);
    // Invitations are suspended instead (R41).
    if (shut_out_ids.length > 0) await this.credentials.voidTokens(shut_out_ids, ['reset', 'email', 'shown', 'not_me']);
    if (shut_out_ids.length > 0 || assignsNetworks(action))
      await this.sessions.endForbidden(actor, changed_ids, operation_id);
    if (secures(action)) {
      await this.credentials.voidPasswords(changed_ids);
      await this.credentials.voidTokens(changed_ids);
      await this.mails.cancelLinks(changed_ids, true);
      await this.mails.restoreLinks(changed_ids, true);
      await this.sessions.endOf(actor, changed_ids, 'secured');
    }
    if (invites(action)) await this.mails.inviteAgain(changed_ids);
    const links = let_in_ids.length === 0 ? {} : await this.mails.restoreLinks(let_in_ids);
    return { ...applied, links };
  }

  /**
   * Applies an action to one user. See `apply`.
   * @param missing error code if the user is not within the actor's scope
   * @throws auth.reauthentication_required, request.rate_limited, and the codes of the rules
   */
  async applyToOne(
    actor: Actor,
    user_id: string,
    action: ChangeAction | DeleteAction,
    missing: ErrorCode = 'user.not_found',
  ): Promise<AppliedAction> {
    const checked = await this.check(actor, action);
    if (needsFreshAuthentication(action)) assertFresh(actor);
    const counter = selfChangeOf(actor, user_id, 'user.changed');
    await this.limits.assertBelow(selfChangeLimit, counter);
    const applied = await this.apply(actor, checked, [user_id]);
    if (applied.matched === 0) throw new AppError(missing);
    if (applied.changed_ids.length > 0) await this.limits.demand(selfChangeLimit, counter);
    const [skipped] = applied.skipped;
    if (skipped === undefined) return applied;
    const { reason, pointer } = skipped;
    if (pointer === undefined) throw new AppError(reason);
    throw invalid({ pointer, code: 'field.not_allowed', detail: 'is not possible for this user' });
  }
}

function assignsRoles(action: UserAction): boolean {
  if (action.kind !== 'change') return action.kind === 'undo';
  const { roles, roles_add, roles_remove } = action.change;
  return [roles, roles_add, roles_remove].some((names) => names !== undefined);
}

function assignsNetworks(action: UserAction): boolean {
  return action.kind === 'undo' || (action.kind === 'change' && action.change.allowed_ips !== undefined);
}

function eventTypeOf(action: UserAction): EventType {
  if (action.kind === 'delete') return 'user.deleted';
  if (secures(action)) return 'user.secured';
  if (invites(action)) return 'user.invited';
  return action.kind === 'undo' && action.restores ? 'user.restored' : 'user.changed';
}
