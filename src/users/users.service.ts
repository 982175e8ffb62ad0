import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, identityOf, isOneself } from '../access/actor';
import { holds } from '../access/permissions';
import { visibleTo } from '../access/scope.sql';
import { AppError, type FieldError, invalid } from '../common/errors/app-error';
import type { ErrorCode } from '../common/errors/error-codes';
import { readBoolean } from '../common/query/boolean-parameter';
import type { RawQuery } from '../common/query/filter';
import type { Page } from '../common/query/page';
import { sql, type SqlFragment } from '../common/query/sql';
import type { Answered } from '../common/times';
import { type Changes, EventsService } from '../events/events.service';
import { RolesService } from '../roles/roles.service';
import type { UserChange } from './user-change';
import { type Applied, type Deed, oneUser, UserChangesService } from './user-changes.service';
import { UserMailsService } from './user-mails.service';
import { UserPurgeService } from './user-purge.service';
import { type ChangeUserRequest, type CurrentUserResponse, toUserResponse, type UserResponse } from './users.dto';
import { UsersRepository } from './users.repository';

export { userFilter } from './user-list';

const columns = { user_id: 'users.user_id', user_type: 'users.user_type', carrier_id: 'users.carrier_id' };
const otherColumns = { user_id: 'other.user_id', user_type: 'other.user_type', carrier_id: 'other.carrier_id' };
const selfFields = ['first_name', 'last_name', 'phone', 'locale', 'timezone'];

/** Which users an actor may see, as SQL. @param alias the table's name in the query */
export function visibleUsers(actor: Actor, alias: 'users' | 'other' = 'users'): SqlFragment {
  return visibleTo(actor, alias === 'users' ? columns : otherColumns);
}

/** Users, one at a time and in lists. */
@Injectable()
export class UsersService {
  constructor(
    private readonly users: UsersRepository,
    private readonly changes: UserChangesService,
    private readonly mails: UserMailsService,
    private readonly roles: RolesService,
    private readonly events: EventsService,
    private readonly purges: UserPurgeService,
  ) {}

  /** A user whom the actor may see. @throws user.not_found */
  async get(actor: Actor, user_id: string): Promise<UserResponse> {
    const visible = isOneself(actor, user_id) ? sql`true` : visibleUsers(actor);
    const user = await this.users.find(oneUser(user_id, visible));
    if (user === null) throw new AppError('user.not_found');
    return toUserResponse(user);
  }

  /** The actor themselves, with what they may do at this moment. */
  async current(actor: Actor): Promise<CurrentUserResponse> {
    return { ...(await this.get(actor, actor.user_id)), permissions: actor.permissions };
  }

  /** One page of the users whom the actor may see. */
  async list(actor: Actor, query: RawQuery): Promise<Page<Answered<UserResponse>>> {
    const errors: FieldError[] = [];
    const { deleted, ...rest } = query;
    const onlyDeleted = readBoolean({ deleted }, 'deleted', errors, ['true']);
    if (errors.length > 0) throw invalid(...errors);
    if (onlyDeleted && !holds(actor.permissions, 'user:delete')) throw new AppError('access.denied');
    const page = await this.users.list(visibleUsers(actor), rest, identityOf(actor), onlyDeleted);
    return { ...page, items: page.items.map((user) => toUserResponse(user)) };
  }

  /** The users with these ids, for the preview of a bulk change. */
  async sample(user_ids: string[]): Promise<UserResponse[]> {
    return (await this.users.sample(user_ids)).map(toUserResponse);
  }

  /** Changes one user. @throws user.not_found, user.version_mismatch and what the rules refuse */
  @Transactional()
  async change(
    actor: Actor,
    user_id: string,
    request: ChangeUserRequest,
    versions: number[] | null,
  ): Promise<UserResponse> {
    const change: UserChange = { ...request };
    const ofSelf = isOneself(actor, user_id);
    if (!holds(actor.permissions, 'user:update') && Object.keys(change).some((field) => !selfFields.includes(field)))
      throw new AppError('access.denied');
    const deed = { ...(await this.changes.changeDeed(actor, change)), versions };
    return this.apply(actor, user_id, deed, ofSelf ? sql`true` : visibleUsers(actor));
  }

  /**
   * Proposes a new address for oneself, unless the password was changed since it was verified.
   * @throws auth.token_invalid
   */
  @Transactional()
  async proposeEmail(actor: Actor, email: string, password_changed_at: Date | null): Promise<void> {
    const unchanged = sql`users.password_changed_at is not distinct from ${password_changed_at}::timestamptz`;
    const deed = { ...(await this.changes.changeDeed(actor, { email })), reauthenticated: true };
    await this.apply(actor, actor.user_id, deed, unchanged, 'auth.token_invalid');
  }

  /**
   * Deletes one user softly, or for good. @throws user.not_found, user.version_mismatch and what
   * the rules refuse
   */
  @Transactional()
  async delete(actor: Actor, user_id: string, versions: number[] | null, purge: boolean): Promise<void> {
    if (purge && !holds(actor.permissions, 'user:purge')) throw new AppError('access.denied');
    const state = purge ? sql`true` : sql`users.deleted_at is null`;
    const condition = sql`users.user_id = ${user_id}::uuid and ${state} and ${visibleUsers(actor)}`;
    const deed = { ...(await this.changes.deleteDeed(actor)), versions };
    await this.applyToOne(actor, condition, deed);
    if (purge) await this.purges.purge(actor, user_id);
  }

  /**
   * Brings a deleted user back, with roles as far as they are still there and the actor may give
   * them. @throws user.not_found, user.name_taken, user.email_taken
   */
  @Transactional()
  async restore(actor: Actor, user_id: string): Promise<UserResponse> {
    const deleted = await this.users.find(
      sql`users.user_id = ${user_id}::uuid and users.deleted_at is not null and ${visibleUsers(actor)}`,
    );
    if (deleted === null) throw new AppError('user.not_found');
    const { forbidden, open_to_system, open_to_carrier } = await this.roles.frozenGrantsOf(actor);
    const open = deleted.user_type === 'system' ? open_to_system : open_to_carrier;
    const user = await this.users.restore(
      user_id,
      open.filter((role) => !forbidden.includes(role)),
    );
    if (user === null) throw new AppError('user.not_found');
    const roles: Changes =
      user.roles.length === deleted.roles.length ? {} : { roles: { before: deleted.roles, after: user.roles } };
    await this.events.record(actor, 'user.restored', { type: 'user', id: user_id, carrier_id: user.carrier_id }, roles);
    return toUserResponse(user);
  }

  /**
   * Mails a new invitation to a user without a password and voids the older link. Mails at most 3
   * invitations per address and hour, and delays further ones.
   */
  @Transactional()
  async invite(actor: Actor, user_id: string): Promise<void> {
    const deed = await this.changes.changeDeed(actor, {});
    await this.applyToOne(actor, oneUser(user_id, visibleUsers(actor)), deed);
    const user = await this.get(actor, user_id);
    if (user.status !== 'invited')
      throw invalid({ pointer: '', code: 'field.not_allowed', detail: 'the user is not invited any more' });
    await this.events.record(actor, 'user.invited', { type: 'user', id: user_id, carrier_id: user.carrier_id });
    await this.mails.invite(user);
  }

  private async apply(
    actor: Actor,
    user_id: string,
    deed: Deed,
    visible: SqlFragment,
    missing?: ErrorCode,
  ): Promise<UserResponse> {
    const { changes } = await this.applyToOne(actor, oneUser(user_id, visible), deed, missing);
    const user = await this.get(actor, user_id);
    if (deed.change.email !== undefined) await this.mails.emailProposed(user, changes ?? {});
    return user;
  }

  private async applyToOne(
    actor: Actor,
    condition: SqlFragment,
    deed: Deed,
    missing: ErrorCode = 'user.not_found',
  ): Promise<Applied> {
    const applied = await this.changes.apply(actor, condition, deed);
    if (applied.matched === 0) throw new AppError(missing);
    const [refused] = applied.skipped;
    if (refused === undefined) return applied;
    const [code, field] = refused.reason.split('/');
    if (field === undefined) throw new AppError(code as ErrorCode);
    throw invalid({ pointer: `/${field}`, code: 'field.not_allowed', detail: 'is not possible for this user' });
  }
}
