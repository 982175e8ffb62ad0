import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Actor } from '../access/actor';
import { holds } from '../access/permissions';
import { mayGiveScope, mayReach, visibleTo } from '../access/scope';
import { AppError, invalid } from '../common/errors/app-error';
import type { ErrorCode } from '../common/errors/error-codes';
import type { RawQuery } from '../common/query/filter';
import { sql, type SqlFragment } from '../common/query/sql';
import { newId } from '../common/random';
import { CredentialsService } from '../credentials/credentials.service';
import { type Changes, EventsService } from '../events/events.service';
import { RolesService } from '../roles/roles.service';
import type { UserChange } from './user-change';
import { type Deed, oneUser, type Plan, UserChangesService } from './user-changes.service';
import { UserMailsService } from './user-mails.service';
import {
  type ChangeUserRequest,
  type CreateUserRequest,
  type CurrentUserResponse,
  toUserResponse,
  type UserListResponse,
  type UserResponse,
} from './users.dto';
import { UsersRepository } from './users.repository';

export { userFilter } from './user-list';

const columns = { user_id: 'users.user_id', user_type: 'users.user_type', carrier_id: 'users.carrier_id' };
const selfFields = ['first_name', 'last_name', 'phone', 'locale', 'timezone'];

/** Which users an actor may see, as SQL. */
export function visibleUsers(actor: Actor): SqlFragment {
  return visibleTo(actor, columns);
}

/** Users, one at a time and in lists. */
@Injectable()
export class UsersService {
  constructor(
    private readonly users: UsersRepository,
    private readonly changes: UserChangesService,
    private readonly mails: UserMailsService,
    private readonly credentials: CredentialsService,
    private readonly roles: RolesService,
    private readonly events: EventsService,
  ) {}

  /** Creates a user; without a password they are invited by mail. @throws user.name_taken, user.email_taken and the rules of scope and grants */
  async create(actor: Actor, request: CreateUserRequest): Promise<UserResponse> {
    assertConsistent(request);
    const { user_type, carrier_id = null, carrier_scope = null, roles = [], password } = request;
    if (!mayReach(actor, { user_type, carrier_id }))
      throw new AppError('access.denied', { detail: 'The user would be outside the scope.' });
    if (user_type === 'system' && !mayGiveScope(actor, carrier_scope)) throw new AppError('access.grant_exceeds_own');
    await this.roles.assertMayGive(actor, roles, user_type);
    const context = { name: request.name, email: request.email, carrier_id };
    const password_hash = password === undefined ? null : await this.credentials.hashNewPassword(password, context);
    return this.insert(actor, request, password_hash);
  }

  /** A user whom the actor may see. @throws user.not_found */
  async get(actor: Actor, user_id: string): Promise<UserResponse> {
    const visible = user_id === actor.user_id ? sql`true` : visibleUsers(actor);
    const user = await this.users.find(oneUser(user_id, visible));
    if (user === null) throw new AppError('user.not_found');
    return toUserResponse(user);
  }

  /** The actor themselves, with what they may do at this moment. */
  async current(actor: Actor): Promise<CurrentUserResponse> {
    return { ...(await this.get(actor, actor.user_id)), permissions: actor.permissions };
  }

  /** One page of the users whom the actor may see. */
  async list(actor: Actor, query: RawQuery): Promise<UserListResponse> {
    const { deleted, ...rest } = query;
    if (deleted !== undefined && deleted !== 'true')
      throw invalid({ parameter: 'deleted', code: 'parameter.malformed', detail: 'must be true' });
    if (deleted === 'true' && !holds(actor.permissions, 'user:delete')) throw new AppError('access.denied');
    const page = await this.users.list(visibleUsers(actor), rest, actor.user_id, deleted === 'true');
    return { ...page, items: page.items.map(toUserResponse) };
  }

  /** The users with these ids, for the preview of a bulk change. */
  async sample(user_ids: string[]): Promise<UserResponse[]> {
    return (await this.users.sample(user_ids)).map(toUserResponse);
  }

  /** Changes one user. @throws user.not_found, user.version_mismatch and what the rules refuse */
  @Transactional()
  async change(actor: Actor, user_id: string, request: ChangeUserRequest, versions: number[] | null): Promise<UserResponse> {
    const change: UserChange = { ...request };
    const ofSelf = user_id === actor.user_id;
    if (!holds(actor.permissions, 'user:update') && Object.keys(change).some((field) => !selfFields.includes(field)))
      throw new AppError('access.denied');
    return this.apply(actor, user_id, await this.changes.changeDeed(actor, change), versions, ofSelf ? sql`true` : visibleUsers(actor));
  }

  /** Proposes a new address for oneself, unless the password was changed since it was verified. @throws auth.token_invalid */
  @Transactional()
  async proposeEmail(actor: Actor, email: string, password_changed_at: Date | null): Promise<void> {
    const unchanged = sql`users.password_changed_at is not distinct from ${password_changed_at}::timestamptz`;
    const deed = { ...(await this.changes.changeDeed(actor, { email })), reauthenticated: true };
    await this.apply(actor, actor.user_id, deed, null, unchanged, 'auth.token_invalid');
  }

  /** Deletes one user softly, or for good. @throws user.not_found, user.version_mismatch and what the rules refuse */
  @Transactional()
  async delete(actor: Actor, user_id: string, versions: number[] | null, purge: boolean): Promise<void> {
    if (purge && !holds(actor.permissions, 'user:purge')) throw new AppError('access.denied');
    const state = purge ? sql`true` : sql`users.deleted_at is null`;
    const condition = sql`users.user_id = ${user_id}::uuid and ${state} and ${visibleUsers(actor)}`;
    const deed = await this.changes.deleteDeed(actor);
    const plan = await this.planOne(actor, versions, condition, deed);
    await this.changes.carryOut(actor, deed, plan);
    if (!purge) return;
    await this.events.eraseUsers([user_id]);
    await this.users.purge([user_id]);
    await this.events.record(actor, 'user.purged', { type: 'user', id: user_id, carrier_id: plan.found[0]?.carrier_id });
  }

  /** Brings a deleted user back, with roles as far as the actor may give them. @throws user.not_found, user.name_taken, user.email_taken */
  @Transactional()
  async restore(actor: Actor, user_id: string): Promise<UserResponse> {
    const deleted = await this.users.find(
      sql`users.user_id = ${user_id}::uuid and users.deleted_at is not null and ${visibleUsers(actor)}`,
    );
    const user = deleted === null ? null : await this.users.restore(user_id, (await this.roles.grantsOf(actor)).forbidden);
    if (deleted === null || user === null) throw new AppError('user.not_found');
    const roles: Changes = user.roles.length === deleted.roles.length ? {} : { roles: { before: deleted.roles, after: user.roles } };
    await this.events.record(actor, 'user.restored', { type: 'user', id: user_id, carrier_id: user.carrier_id }, roles);
    return toUserResponse(user);
  }

  /** Mails a new invitation to somebody who has no password yet; the older link dies. */
  @Transactional()
  async invite(actor: Actor, user_id: string): Promise<void> {
    const deed = await this.changes.changeDeed(actor, {});
    await this.planOne(actor, null, oneUser(user_id, visibleUsers(actor)), deed);
    const user = await this.get(actor, user_id);
    if (user.status !== 'invited') throw invalid({ pointer: '', code: 'field.not_allowed', detail: 'the user is not invited any more' });
    await this.events.record(actor, 'user.invited', { type: 'user', id: user_id, carrier_id: user.carrier_id });
    await this.mails.invite(user_id);
  }

  @Transactional()
  private async insert(actor: Actor, request: CreateUserRequest, password_hash: string | null): Promise<UserResponse> {
    const { user_type, name, email, phone = null, locale = null, timezone = null, carrier_id = null, carrier_scope = null } = request;
    const { roles = [], allowed_ips = [], attributes = {}, must_change_password = password_hash !== null } = request;
    const status = password_hash === null ? 'invited' : 'active';
    const created_by = actor.actor_type === 'system' ? null : actor.user_id;
    const names = { name, email, first_name: request.first_name ?? '', last_name: request.last_name ?? '', phone, locale, timezone };
    const rights = {
      user_type,
      carrier_id,
      carrier_scope,
      roles: [...roles].sort(),
      allowed_ips,
      attributes,
      status: status as UserResponse['status'],
      must_change_password,
    };
    const user = await this.users.insert({ user_id: newId(), ...names, ...rights, created_by });
    const after = Object.fromEntries(Object.entries({ ...names, ...rights }).map(([field, value]) => [field, { after: value }]));
    await this.events.record(actor, 'user.created', { type: 'user', id: user.user_id, carrier_id }, after);
    if (password_hash === null) {
      await this.mails.invite(user.user_id);
      return toUserResponse(user);
    }
    await this.credentials.setPassword(user.user_id, password_hash, actor.actor_type !== 'system');
    return toUserResponse(await this.users.notePasswordSet(user.user_id));
  }

  private async apply(
    actor: Actor,
    user_id: string,
    deed: Deed,
    versions: number[] | null,
    visible: SqlFragment,
    missing: ErrorCode = 'user.not_found',
  ): Promise<UserResponse> {
    const plan = await this.planOne(actor, versions, oneUser(user_id, visible), deed, missing);
    const [changed] = await this.changes.carryOut(actor, deed, plan);
    const user = await this.get(actor, user_id);
    if (deed.change.email !== undefined) await this.mails.emailProposed(user, changed?.changes ?? {});
    return user;
  }

  private async planOne(
    actor: Actor,
    versions: number[] | null,
    condition: SqlFragment,
    deed: Deed,
    missing: ErrorCode = 'user.not_found',
  ): Promise<Plan> {
    const plan = await this.changes.plan(actor, condition, deed, 1);
    const [found] = plan.found;
    if (found === undefined) throw new AppError(missing);
    if (versions !== null && !versions.includes(found.version)) throw new AppError('user.version_mismatch');
    const [refused] = plan.skipped;
    if (refused === undefined) return plan;
    if (refused.field === undefined) throw new AppError(refused.reason as ErrorCode);
    throw invalid({ pointer: `/${refused.field}`, code: 'field.not_allowed', detail: 'is not possible for this user' });
  }
}

/** A Carrier User belongs to one carrier; a System User to none, and only they have a scope. */
function assertConsistent({ user_type, carrier_id = null, carrier_scope = null, password, must_change_password }: CreateUserRequest): void {
  if (user_type === 'carrier' && carrier_id === null)
    throw invalid({ pointer: '/carrier_id', code: 'field.required', detail: 'is required for a Carrier User' });
  if (user_type === 'system' && carrier_id !== null)
    throw invalid({ pointer: '/carrier_id', code: 'field.not_allowed', detail: 'is not for System Users' });
  if (user_type === 'carrier' && carrier_scope !== null)
    throw invalid({ pointer: '/carrier_scope', code: 'field.not_allowed', detail: 'is for System Users only' });
  if (password === undefined && must_change_password === true)
    throw invalid({ pointer: '/must_change_password', code: 'field.not_allowed', detail: 'needs a password' });
}
