import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, isOneself, selfOf } from '../access/actor';
import { assertFresh } from '../access/fresh';
import { assertHolds, holds } from '../access/permissions';
import { AppError, invalid } from '../http/errors/app-error';
import type { ListQuery } from '../http/lists/list-query';
import type { Page } from '../http/lists/page';
import type { Answered } from '../platform/times';
import { EventsService } from '../audit/events.service';
import { ChangesService } from '../audit/changes/changes.service';
import type { Changes } from '../audit/event.entity';
import { RolesService } from '../access/roles/roles.service';
import type { CarrierResponse } from './carriers.dto';
import { CarriersRepository } from './carriers.repository';
import { UserChangesService } from './changes/user-changes.service';
import type { ChangeAction } from './changes/user-change';
import { userFieldsWith } from './user-fields';
import { deletedUserFields, type UserListQuery } from './user-list';
import { UserMailsService } from './mails/user-mails.service';
import { UserPurgeService } from './user-purge.service';
import { type ChangeUserRequest, type ListedUserResponse, toUserResponse, type UserResponse } from './users.dto';
import { UsersRepository } from './users.repository';

const minimal = (user: Answered<UserResponse>) =>
  Object.fromEntries(deletedUserFields.map((field) => [field, user[field]])) as unknown as Answered<ListedUserResponse>;

/** A page of users, with the cursor of the changes after it. */
export type UserPage = Page<Answered<ListedUserResponse>> & { changes_cursor: string };

const selfFields: string[] = userFieldsWith('self_changeable');

/** Lists users, and reads and changes them one at a time. */
@Injectable()
export class UsersService {
  constructor(
    private readonly users: UsersRepository,
    private readonly changes: UserChangesService,
    private readonly mails: UserMailsService,
    private readonly roles: RolesService,
    private readonly events: EventsService,
    private readonly purges: UserPurgeService,
    private readonly carriers: CarriersRepository,
    private readonly feed: ChangesService,
  ) {
    feed.readUsersWith((actor, user_ids) => this.readForFeed(actor, user_ids));
  }

  /** Returns a user within the actor's scope. @throws user.not_found */
  async get(actor: Actor, user_id: string): Promise<Answered<UserResponse>> {
    const user = await this.users.find(user_id, actor);
    if (user === null) throw new AppError('user.not_found');
    return toUserResponse(user);
  }

  /** Returns one page of the users within the actor's scope. */
  async list(actor: Actor, query: UserListQuery): Promise<UserPage> {
    // Callers who learn of a change read the changed users by id: the list must be as new as `get`.
    const namesUsers = query.conditions.some((one) => one.kind === 'field' && one.field === 'user_id');
    const { reads, changes_cursor } = await this.feed.beginCopy(namesUsers ? null : actor, query.after);
    const page = await this.users.list(actor, query, reads);
    const isMinimal = query.deleted && !holds(actor.permissions, 'user:read_deleted');
    const users = page.items.map((user) => toUserResponse(user));
    return { ...page, items: isMinimal ? users.map(minimal) : users, changes_cursor };
  }

  /** Returns users as the change feed shows them, without deleted ones. */
  private async readForFeed(actor: Actor, user_ids: string[]): Promise<Map<string, object>> {
    const users = await this.users.listByIds(user_ids, actor);
    const shown = users
      .filter(({ deleted_at }) => deleted_at === null)
      .map(
        (user) => [user.user_id, { ...toUserResponse(user), attributes: undefined, last_login_ip: undefined }] as const,
      );
    return new Map(shown);
  }

  /** Returns one page of the carriers within the actor's scope that have users. */
  listCarriers(actor: Actor, query: ListQuery): Promise<Page<CarrierResponse>> {
    return this.carriers.list(actor, query);
  }

  /** Changes one user. @throws user.not_found, user.version_mismatch, and the codes of the rules */
  @Transactional()
  async change(
    actor: Actor,
    user_id: string,
    request: ChangeUserRequest,
    versions: number[] | null,
  ): Promise<Answered<UserResponse>> {
    const change = { ...request };
    const isEmpty = Object.keys(change).length === 0;
    if (isEmpty && !isOneself(actor, user_id)) assertHolds(actor, 'user:read');
    if (Object.keys(change).some((field) => !selfFields.includes(field))) assertHolds(actor, 'user:update');
    const action: ChangeAction = { kind: 'change', change, versions };
    const { changes, changed_ids } = await this.changes.applyToOne(actor, user_id, action);
    // Without an effect, the change only reads the user, and leaves no event (Z33).
    if (changed_ids.length === 0 && !isOneself(actor, user_id)) assertHolds(actor, 'user:read');
    const user = await this.get(actor, user_id);
    if (change.email !== undefined) await this.mails.emailProposed(actor, user, changes ?? {});
    return user;
  }

  /**
   * Proposes a new address for the actor's own user, unless the password was changed since it was
   * verified.
   * @throws auth.token_invalid
   */
  @Transactional()
  proposeEmail(actor: Actor, email: string, password_changed_at: Date | null): Promise<void> {
    return this.changeOwnEmail(actor, email, password_changed_at);
  }

  /** Cancels the proposed address of the actor's own user, and voids its link. */
  @Transactional()
  async cancelEmail(actor: Actor): Promise<void> {
    const { email, email_pending, password_changed_at } = await this.lock(actor, actor.user_id);
    if (email_pending === null) return;
    // The current address needs no confirmation, and replaces the proposed one.
    await this.changeOwnEmail(actor, email, password_changed_at === null ? null : new Date(password_changed_at));
  }

  private async changeOwnEmail(actor: Actor, email: string, password_changed_at: Date | null): Promise<void> {
    const action: ChangeAction = { kind: 'change', change: { email }, verified: { password_changed_at } };
    const { changes } = await this.changes.applyToOne(actor, actor.user_id, action, 'auth.token_invalid');
    await this.mails.emailProposed(actor, await this.get(actor, actor.user_id), changes ?? {});
  }

  /**
   * Deletes one user softly, or with `purge` for good.
   * @throws access.denied, user.not_found, user.version_mismatch, and the codes of the rules
   */
  @Transactional()
  async delete(actor: Actor, user_id: string, versions: number[] | null, purge: boolean): Promise<void> {
    if (purge) assertHolds(actor, 'user:purge');
    await this.changes.applyToOne(actor, user_id, { kind: 'delete', purge, versions });
    if (purge) await this.purges.purge(actor, [user_id]);
  }

  /**
   * Restores a deleted user. Drops roles that no longer exist or are closed to the user type.
   * @throws user.not_found, user.self_protected, access.protected_user, user.name_taken,
   * user.email_taken, auth.reauthentication_required for a user with roles
   */
  @Transactional()
  async restore(actor: Actor, user_id: string): Promise<UserResponse> {
    const deleted = await this.users.findWithDeleted(user_id, actor);
    if (deleted === null || deleted.deleted_at === null) throw new AppError('user.not_found');
    const { forbidden, open_to_system, open_to_carrier } = await this.roles.frozenGrantsOf(actor, false);
    if (selfOf(actor) === deleted.user_id) throw new AppError('user.self_protected');
    // Restored without the roles, the user would no longer be protected from the actor (Z32).
    if (deleted.roles.some((role) => forbidden.includes(role))) throw new AppError('access.protected_user');
    if (deleted.roles.length > 0) assertFresh(actor);
    const open = deleted.user_type === 'system' ? open_to_system : open_to_carrier;
    const user = await this.users.restore(user_id, deleted.version, open);
    if (user === null) throw new AppError('user.not_found');
    const roles: Changes =
      user.roles.length === deleted.roles.length ? {} : { roles: { before: deleted.roles, after: user.roles } };
    await this.mails.restoreLinks([user_id]);
    await this.events.record(actor, 'user.restored', { id: user_id, carrier_id: user.carrier_id }, roles);
    return toUserResponse(user);
  }

  /**
   * Checks that the actor may change a user, locks the user, and returns the user.
   * @throws user.not_found, access.protected_user
   */
  async lock(actor: Actor, user_id: string): Promise<Answered<UserResponse>> {
    await this.changes.applyToOne(actor, user_id, { kind: 'change', change: {} });
    return this.get(actor, user_id);
  }

  /**
   * Mails a new invitation to a user without a password and voids the older link. Mails at most 3
   * invitations per address and hour, and delays further ones.
   */
  @Transactional()
  async invite(actor: Actor, user_id: string): Promise<void> {
    const user = await this.lock(actor, user_id);
    if (user.status !== 'invited')
      throw invalid({ pointer: '', code: 'field.not_allowed', detail: 'is only possible while the user is invited' });
    await this.events.record(actor, 'user.invited', { id: user_id, carrier_id: user.carrier_id });
    await this.mails.invite(user);
  }
}
