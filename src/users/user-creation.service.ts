import { Inject, Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, systemActor } from '../access/actor';
import { type Admission, singleWrites, workOwnerOf } from '../access/admission';
import { assertFresh } from '../access/fresh';
import { mayGiveScope, mayReach } from '../access/scope';
import { AppError, type FieldError, invalid } from '../http/errors/app-error';
import { newId } from '../platform/random';
import { CredentialsService } from '../auth/passwords/credentials.service';
import type { ChangesOf } from '../audit/event-catalogue';
import { eventBase } from '../audit/event-base';
import { IdempotencyService } from '../http/idempotency/idempotency.service';
import { RolesService } from '../access/roles/roles.service';
import { newUserValues } from './user-fields';
import { UserMailsService } from './mails/user-mails.service';
import { type CreateUserRequest, toUserResponse, type UserResponse } from './users.dto';
import { UsersRepository } from './users.repository';

/** Creates users. */
@Injectable()
export class UserCreationService {
  constructor(
    private readonly users: UsersRepository,
    private readonly mails: UserMailsService,
    private readonly credentials: CredentialsService,
    private readonly roles: RolesService,
    private readonly idempotency: IdempotencyService,
    @Inject(singleWrites) private readonly writes: Admission,
  ) {}

  /**
   * Creates a user. Invites the user by mail if the request has no password.
   * @throws user.name_taken, user.email_taken, request.rate_limited
   * @throws access.denied, access.grant_exceeds_own, request.invalid, service.overloaded
   * @throws auth.reauthentication_required if the user gets roles
   */
  async create(actor: Actor, request: CreateUserRequest): Promise<UserResponse> {
    assertConsistent(request);
    const { user_type, carrier_id = null, carrier_scope = null, roles = [], password } = request;
    if (!mayReach(actor, { user_type, carrier_id }))
      throw new AppError('access.denied', { detail: 'The user would be outside your scope.' });
    if (user_type === 'system' && !mayGiveScope(actor, carrier_scope)) throw new AppError('access.grant_exceeds_own');
    // Otherwise a stolen session could create an administrator and log in as that user (S24).
    if (roles.length > 0) assertFresh(actor);
    const password_hash = password === undefined ? null : await this.hash(actor, request, password);
    return this.writes.run(workOwnerOf(actor), () => this.insert(actor, request, password_hash));
  }

  /** Hashes the password after all checks, so that a taken name costs no hash (L21). */
  private async hash(actor: Actor, request: CreateUserRequest, password: string): Promise<string> {
    const { user_type, roles = [], name, email, carrier_id = null, first_name, last_name, phone } = request;
    // `insert` checks again, with the roles locked.
    await this.roles.assertMayGive(actor, roles, user_type);
    const context = { name, email, carrier_id, first_name, last_name, phone };
    const checked = await this.credentials.checkNewPassword(password, context);
    // Only an early check before the hash. The unique indexes decide at the insert.
    if ((await this.users.findByLogin(name, systemActor)) !== null) throw new AppError('user.name_taken');
    if ((await this.users.findByLogin(email, systemActor)) !== null) throw new AppError('user.email_taken');
    return this.credentials.hashNewPassword(checked, actor);
  }

  @Transactional()
  private async insert(actor: Actor, request: CreateUserRequest, password_hash: string | null): Promise<UserResponse> {
    const { user_type, roles = [], must_change_password = password_hash !== null } = request;
    if (roles.length > 0) await this.roles.assertMayGiveFrozen(actor, roles, user_type);
    const status = password_hash === null ? 'invited' : 'active';
    const values = { ...newUserValues(request), roles: [...roles].sort(), status, must_change_password } as const;
    const created_by = actor.actor_type === 'system' ? null : actor.user_id;
    const changes: ChangesOf<'user.created'> = Object.fromEntries(
      Object.entries(values).map(([field, after]) => [field, { after }]),
    );
    const event = eventBase(actor, 'user.created');
    const has_password = password_hash !== null;
    const user = await this.users.insert({ user_id: newId(), has_password, ...values }, created_by, event, changes);
    if (password_hash === null) await this.mails.inviteMany([user]);
    else await this.credentials.setPassword(user.user_id, password_hash, actor.actor_type !== 'system');
    const response = toUserResponse(user);
    await this.idempotency.keep(201, response);
    return response;
  }
}

/**
 * Returns the first contradiction between the fields of a new user, or null. A Carrier User belongs
 * to one carrier and has no scope; a System User belongs to no carrier.
 */
export function inconsistencyOf({
  user_type,
  carrier_id = null,
  carrier_scope = null,
}: Partial<CreateUserRequest>): FieldError | null {
  if (user_type === 'carrier' && carrier_id === null)
    return { pointer: '/carrier_id', code: 'field.required', detail: 'is required for a Carrier User' };
  if (user_type === 'system' && carrier_id !== null)
    return { pointer: '/carrier_id', code: 'field.not_allowed', detail: 'must be absent for a System User' };
  if (user_type === 'carrier' && carrier_scope !== null)
    return { pointer: '/carrier_scope', code: 'field.not_allowed', detail: 'must be absent for a Carrier User' };
  return null;
}

function assertConsistent(request: CreateUserRequest): void {
  const fault = inconsistencyOf(request);
  if (fault !== null) throw invalid(fault);
  if (request.password === undefined && request.must_change_password === true)
    throw invalid({ pointer: '/must_change_password', code: 'field.not_allowed', detail: 'requires a password' });
}
