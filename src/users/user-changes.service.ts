import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { mayGiveScope } from '../access/scope';
import { AppError } from '../common/errors/app-error';
import { sql, type SqlFragment } from '../common/query/sql';
import { CredentialsService } from '../credentials/credentials.service';
import { EventsService } from '../events/events.service';
import { RolesService } from '../roles/roles.service';
import { SessionsService } from '../sessions/sessions.service';
import { assignmentsOf, touchesPower, type UserChange } from './user-change';
import { type ChangedUser, type FoundUser, UserChangesRepository } from './user-changes.repository';
import type { Deed } from './user-rules';

export type { Deed } from './user-rules';

/** What was found, and what is to become of each. */
export interface Plan {
  /** all that were found */
  found: FoundUser[];
  /** those that will be changed */
  to_change: string[];
  /** those that may be changed but already are as wanted */
  unchanged: number;
  /** those that may not be changed, with the code of the rule */
  skipped: { user_id: string; reason: string; field?: string }[];
}

/**
 * Changing and deleting users: the rules about who may do what to whom, and what follows for sessions and links.
 * One user or all that a filter finds go the same way. To be called within a transaction.
 */
@Injectable()
export class UserChangesService {
  constructor(
    private readonly changes: UserChangesRepository,
    private readonly roles: RolesService,
    private readonly sessions: SessionsService,
    private readonly credentials: CredentialsService,
    private readonly events: EventsService,
  ) {}

  /** What a change means. @throws request.invalid, access.grant_exceeds_own when no user at all could be changed like this */
  async changeDeed(actor: Actor, change: UserChange): Promise<Deed> {
    await this.roles.assertMayGive(actor, change.roles ?? [], null);
    await this.roles.assertMayGive(actor, change.roles_add ?? [], null, '/roles_add');
    await this.roles.assertMayGive(actor, change.roles_remove ?? [], null, '/roles_remove');
    if (change.carrier_scope !== undefined && !mayGiveScope(actor, change.carrier_scope)) throw new AppError('access.grant_exceeds_own');
    return this.deed(actor, 'change', change);
  }

  /** What a deletion means. */
  deleteDeed(actor: Actor): Promise<Deed> {
    return this.deed(actor, 'delete', {});
  }

  /**
   * Finds the users of a condition and says what would become of each. Locks them, unless it is a preview.
   * Whoever could remove the last administrator does so one after the other, so that two at once cannot (ASVS 15.4.2).
   */
  async plan(actor: Actor, condition: SqlFragment, deed: Deed, limit: number, lock = true): Promise<Plan> {
    if (lock && (deed.kind === 'delete' || touchesPower(deed.change))) await this.changes.lockAdministrators();
    const found = await this.changes.find(actor, condition, deed, limit, lock);
    await this.protectLastAdministrator(found);
    const allowed = found.filter(({ refusal }) => refusal === null);
    const to_change = allowed.filter(({ differs }) => differs).map(({ user_id }) => user_id);
    const skipped = found.flatMap(({ user_id, refusal }) => (refusal === null ? [] : [{ user_id, ...reasonOf(refusal) }]));
    return { found, to_change, unchanged: allowed.length - to_change.length, skipped };
  }

  /** Does to the planned users what was planned, with everything that follows from it. */
  async carryOut(actor: Actor, deed: Deed, plan: Plan, operation_id: string | null = null): Promise<ChangedUser[]> {
    if (plan.to_change.length === 0) return [];
    const changed =
      deed.kind === 'delete' ? await this.changes.delete(plan.to_change) : await this.changes.change(plan.to_change, deed.assignments);
    const user_ids = changed.map(({ user_id }) => user_id);
    const type = deed.kind === 'delete' ? 'user.deleted' : 'user.changed';
    await this.events.recordMany(
      actor,
      type,
      'user',
      changed.map(({ user_id, carrier_id, changes }) => ({ id: user_id, carrier_id, changes })),
      operation_id,
    );
    if (deed.kind === 'delete') await this.shutOut(actor, user_ids, 'user_deleted');
    if (touchesPower(deed.change)) await this.dropProposals(user_ids);
    if (deed.change.status === 'disabled') await this.shutOut(actor, user_ids, 'user_disabled');
    if (deed.change.allowed_ips !== undefined) await this.sessions.endOutsideAllowedIps(actor, user_ids);
    return changed;
  }

  /** An address that was proposed for somebody with less power must not be confirmed into more (privilege escalation). */
  private async dropProposals(user_ids: string[]): Promise<void> {
    await this.changes.dropProposals(user_ids);
    await this.credentials.voidTokens(user_ids, ['email']);
  }

  private async shutOut(actor: Actor, user_ids: string[], reason: 'user_deleted' | 'user_disabled'): Promise<void> {
    await this.sessions.endOf(actor, user_ids, reason);
    await this.credentials.voidTokens(user_ids);
  }

  private async protectLastAdministrator(found: FoundUser[]): Promise<void> {
    const leaving = found.filter(({ leaves_administrators, refusal }) => leaves_administrators && refusal === null);
    const [kept] = leaving;
    if (kept === undefined) return;
    if ((await this.changes.countAdministrators()) <= leaving.length) kept.refusal = 'user.last_administrator';
  }

  private async deed(actor: Actor, kind: Deed['kind'], change: UserChange): Promise<Deed> {
    return { kind, change, assignments: assignmentsOf(change), roles: await this.roles.grantsOf(actor) };
  }
}

/** A refusal is a code, and for `request.invalid` the field after a slash. */
function reasonOf(refusal: string): { reason: string; field?: string } {
  const [reason = refusal, field] = refusal.split('/');
  return field === undefined ? { reason } : { reason, field };
}

/** The condition that finds one living user whom the actor may see. */
export function oneUser(user_id: string, visible: SqlFragment): SqlFragment {
  return sql`users.user_id = ${user_id}::uuid and users.deleted_at is null and ${visible}`;
}
