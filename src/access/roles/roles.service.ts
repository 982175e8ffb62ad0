import { Injectable } from '@nestjs/common';
import type { Actor, UserType } from '../actor';
import { giveableRoles } from '../grant';
import { ownPermissions } from '../permissions';
import { AppError, invalid } from '../../http/errors/app-error';
import { type RoleListResponse, type RoleResponse, toRoleResponse } from './roles.dto';
import { RolesRepository } from './roles.repository';

/** Names of roles, grouped by what an actor may do with them. */
export interface Grants {
  /** roles that the actor may not grant or revoke; users who hold them are protected */
  forbidden: string[];
  /** roles that System Users may hold */
  open_to_system: string[];
  /** roles that Carrier Users may hold */
  open_to_carrier: string[];
}

/** Reads roles, and decides which roles an actor may grant. */
@Injectable()
export class RolesService {
  constructor(private readonly roles: RolesRepository) {}

  /** Returns `*`, the permissions of this service, and all permissions of roles. */
  async knownPermissions(): Promise<string[]> {
    const named = (await this.roles.listAll()).flatMap(({ permissions }) => permissions);
    return [...new Set(['*', ...Object.keys(ownPermissions), ...named])];
  }

  async list(): Promise<RoleListResponse> {
    const roles = await this.roles.listAll();
    return { items: roles.map(toRoleResponse) };
  }

  /** Returns a role. @throws role.not_found */
  async get(name: string): Promise<RoleResponse> {
    const role = await this.roles.find(name);
    if (role === null) throw new AppError('role.not_found');
    return toRoleResponse(role);
  }

  /** Returns what an actor may do with the existing roles. */
  async grantsOf(actor: Actor): Promise<Grants> {
    const roles = await this.roles.listAll();
    const giveable = giveableRoles(actor, roles);
    const namesOf = (matches: (role: RoleResponse) => boolean) => roles.filter(matches).map(({ name }) => name);
    return {
      forbidden: namesOf(({ name }) => !giveable.has(name)),
      open_to_system: namesOf(({ user_types }) => user_types.includes('system')),
      open_to_carrier: namesOf(({ user_types }) => user_types.includes('carrier')),
    };
  }

  /**
   * Returns the same as `grantsOf`, and locks the roles against changes until the end of the
   * transaction. Call it before users are locked: a change of a role takes its lock first, and then
   * reads users.
   * @param inBulk whether the transaction changes many users; it then waits for changes of roles
   * that are announced (B35)
   */
  async frozenGrantsOf(actor: Actor, inBulk: boolean): Promise<Grants> {
    await (inBulk ? this.roles.freezeForBulk() : this.roles.freeze());
    return this.grantsOf(actor);
  }

  /**
   * Rejects roles that do not exist, that users of a type may not have, or that the actor may not
   * grant.
   * @param user_type null = users of both types; then the types of the roles are not checked
   * @throws request.invalid with `pointer`; access.grant_exceeds_own
   */
  async assertMayGive(
    actor: Actor,
    names: readonly string[],
    user_type: UserType | null,
    pointer = '/roles',
  ): Promise<void> {
    if (names.length === 0) return;
    const roles = await this.roles.listAll();
    const known = new Map<string, RoleResponse>(roles.map((role) => [role.name, role]));
    const requested = names.map((name) => known.get(name));
    const hasUnavailable = requested.some(
      (role) => role === undefined || (user_type !== null && !role.user_types.includes(user_type)),
    );
    if (hasUnavailable)
      throw invalid({
        pointer,
        code: 'field.not_allowed',
        detail: 'names a role that does not exist or is not available to this type of user',
      });
    const giveable = giveableRoles(actor, roles);
    if (!names.every((name) => giveable.has(name))) throw new AppError('access.grant_exceeds_own');
  }

  /**
   * Does the same as `assertMayGive`, and locks the roles against changes until the end of the
   * transaction.
   * @throws request.invalid, access.grant_exceeds_own
   */
  async assertMayGiveFrozen(actor: Actor, names: readonly string[], user_type: UserType): Promise<void> {
    await this.roles.freeze();
    await this.assertMayGive(actor, names, user_type);
  }
}
