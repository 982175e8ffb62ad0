import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { mayGiveScope } from '../access/scope';
import { AppError } from '../common/errors/app-error';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import { CredentialsService } from '../credentials/credentials.service';
import { EventsService } from '../events/events.service';
import { RolesService } from '../roles/roles.service';
import { SessionsService } from '../sessions/sessions.service';
import { type Assignment, assignmentsOf, touchesPower, type UserChange } from './user-change';
import { type Applied, type Previewed, UserChangesRepository } from './user-changes.repository';
import type { Deed } from './user-rules';
import { changedBy, leftToUndo, undoOf } from './user-undo';

export type { Applied, Outcome, SkippedUser } from './user-changes.repository';
export { type Deed, isIdTaken, isTaken, ofHolder } from './user-rules';

const deletion: Assignment = {
  column: 'deleted_at',
  value: rawSql('coalesce(users.deleted_at, now()::timestamptz(3))'),
};

/**
 * Changing and deleting users: the rules about who may do what to whom, and what follows for
 * sessions and links. One user or all that a filter finds go the same way. To be called within a
 * transaction.
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

  /**
   * What a change means. @throws request.invalid, access.grant_exceeds_own when no user at all
   * could be changed like this
   */
  async changeDeed(actor: Actor, change: UserChange): Promise<Deed> {
    await this.roles.assertMayGive(actor, change.roles ?? [], null);
    await this.roles.assertMayGive(actor, change.roles_add ?? [], null, '/roles_add');
    await this.roles.assertMayGive(actor, change.roles_remove ?? [], null, '/roles_remove');
    if (change.carrier_scope !== undefined && !mayGiveScope(actor, change.carrier_scope))
      throw new AppError('access.grant_exceeds_own');
    return { kind: 'change', change, assignments: assignmentsOf(change), roles: await this.roles.grantsOf(actor) };
  }

  /** What a deletion means. */
  async deleteDeed(actor: Actor): Promise<Deed> {
    return { kind: 'delete', change: {}, assignments: [deletion], roles: await this.roles.grantsOf(actor) };
  }

  /** What putting back the changes, or with `restores` the deletions, of an operation means. */
  async undoDeed(actor: Actor, operation_id: string, restores: boolean): Promise<Deed> {
    return { kind: 'undo', change: {}, restores, ...undoOf(operation_id), roles: await this.roles.grantsOf(actor) };
  }

  /**
   * What a deed would do to the users that a condition finds; the digest of their ids is made with
   * `seed`.
   */
  preview(actor: Actor, condition: SqlFragment, deed: Deed, seed: string): Promise<Previewed> {
    return this.changes.preview(actor, condition, deed, seed);
  }

  /** The users whom an operation has changed or deleted, as a query that gives `user_id`. */
  changedBy(operation_id: string): SqlFragment {
    return changedBy(operation_id);
  }

  /** Renders the query for the users of an operation whom none of `undos` has restored. */
  leftToUndo(operation_id: string, undos: string[]): SqlFragment {
    return leftToUndo(operation_id, undos);
  }

  /**
   * Does a deed to the users that a condition finds, with everything that follows from it. Whoever
   * could remove the last administrator does so one after the other, so that two at once cannot
   * (ASVS 15.4.2). Roles that are given stay as they are until the transaction ends: none is gone,
   * or closed to its new holder, by the time they have it.
   * @param wanted ids that should be found, as a query; the missing ones are skipped as
   * `user.not_found`
   */
  async apply(
    actor: Actor,
    condition: SqlFragment,
    asked: Deed,
    operation_id: string | null = null,
    wanted: SqlFragment | null = null,
  ): Promise<Applied> {
    const deed = assignsRoles(asked) ? { ...asked, roles: await this.roles.frozenGrantsOf(actor) } : asked;
    const power = deed.kind !== 'change' || touchesPower(deed.change);
    if (power) await this.changes.lockAdministrators(condition);
    const record = (targets: SqlFragment) => this.events.recordAll(actor, eventOf(deed), 'user', targets, operation_id);
    const applied = await this.changes.apply(actor, condition, deed, record, wanted);
    const { changed_ids, shut_out_ids } = applied;
    if (changed_ids.length === 0) return applied;
    if (power && deed.kind !== 'delete') await this.dropProposals(changed_ids);
    if (shut_out_ids.length > 0) await this.credentials.voidTokens(shut_out_ids);
    const mayShutOut = shut_out_ids.length > 0 || deed.assignments.some(({ column }) => column === 'allowed_ips');
    if (mayShutOut) await this.sessions.endForbidden(actor, changed_ids, operation_id);
    return applied;
  }

  /**
   * An address that was proposed for somebody with less power must not be confirmed into more
   * (privilege escalation).
   */
  private async dropProposals(user_ids: string[]): Promise<void> {
    await this.changes.dropProposals(user_ids);
    await this.credentials.voidTokens(user_ids, ['email']);
  }
}

function assignsRoles({ assignments }: Deed): boolean {
  return assignments.some(({ column }) => column === 'roles');
}

function eventOf({ kind, restores = false }: Deed): 'user.changed' | 'user.deleted' | 'user.restored' {
  if (kind === 'delete') return 'user.deleted';
  return restores ? 'user.restored' : 'user.changed';
}

/** The condition that finds one living user whom the actor may see. */
export function oneUser(user_id: string, visible: SqlFragment): SqlFragment {
  return sql`users.user_id = ${user_id}::uuid and users.deleted_at is null and ${visible}`;
}
