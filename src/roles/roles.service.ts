import { Injectable } from '@nestjs/common';
import type { Actor, UserType } from '../access/actor';
import { giveableRoles } from '../access/grant';
import { AppError, invalid } from '../common/errors/app-error';
import { type RoleListResponse, type RoleResponse, toRoleResponse } from './roles.dto';
import { RolesRepository } from './roles.repository';

/** The roles as an actor may handle them, by name. */
export interface Grants {
  /** neither to be given nor taken: whoever has one is protected from the actor */
  forbidden: string[];
  open_to_system: string[];
  open_to_carrier: string[];
}

/** The roles, and what follows from them for who may do what to whom. */
@Injectable()
export class RolesService {
  constructor(private readonly roles: RolesRepository) {}

  /** All roles by name. */
  async list(): Promise<RoleListResponse> {
    const roles = await this.roles.listAll();
    return { items: roles.map(toRoleResponse) };
  }

  /** One role. @throws role.not_found */
  async get(name: string): Promise<RoleResponse> {
    const role = await this.roles.find(name);
    if (role === null) throw new AppError('role.not_found');
    return toRoleResponse(role);
  }

  /** What an actor may do with the roles there are. */
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
   * As `grantsOf`, and no role changes before the transaction ends: what is given by it still is
   * there, and open to its holders, when they have it. To be called before users are locked:
   * whoever changes a role waits for those who give roles, and then looks at users.
   */
  async frozenGrantsOf(actor: Actor): Promise<Grants> {
    await this.roles.freeze();
    return this.grantsOf(actor);
  }

  /**
   * Refuses roles that do not exist, are not open to the kind of user, or are not the actor's to
   * give.
   * @param user_type null when the users are of both kinds: then only existence and grant are
   * checked
   * @throws request.invalid naming the field; access.grant_exceeds_own
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
    const wanted = names.map((name) => known.get(name));
    const closed = wanted.some(
      (role) => role === undefined || (user_type !== null && !role.user_types.includes(user_type)),
    );
    if (closed)
      throw invalid({
        pointer,
        code: 'field.not_allowed',
        detail: 'names a role that does not exist or is not open to this kind of user',
      });
    const giveable = giveableRoles(actor, roles);
    if (!names.every((name) => giveable.has(name))) throw new AppError('access.grant_exceeds_own');
  }

  /**
   * As `assertMayGive`, and it stays so until the transaction ends. @throws request.invalid,
   * access.grant_exceeds_own
   */
  async assertMayGiveFrozen(actor: Actor, names: readonly string[], user_type: UserType): Promise<void> {
    await this.roles.freeze();
    await this.assertMayGive(actor, names, user_type);
  }
}
