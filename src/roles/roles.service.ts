import { Injectable } from '@nestjs/common';
import type { Actor, UserType } from '../access/actor';
import { mayGive } from '../access/grant';
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

  /** What an actor may do with the roles there are. */
  async grantsOf(actor: Actor): Promise<Grants> {
    const roles = await this.roles.listAll();
    const namesOf = (matches: (role: RoleResponse) => boolean) => roles.filter(matches).map(({ name }) => name);
    return {
      forbidden: namesOf((role) => !mayGive(actor, role)),
      open_to_system: namesOf(({ user_types }) => user_types.includes('system')),
      open_to_carrier: namesOf(({ user_types }) => user_types.includes('carrier')),
    };
  }

  /**
   * Refuses roles that do not exist, are not open to the kind of user, or are not the actor's to give.
   * @param user_type null when the users are of both kinds: then only existence and grant are checked
   * @throws request.invalid naming the field; access.grant_exceeds_own
   */
  async assertMayGive(actor: Actor, names: readonly string[], user_type: UserType | null, pointer = '/roles'): Promise<void> {
    if (names.length === 0) return;
    const known = new Map<string, RoleResponse>((await this.roles.listAll()).map((role) => [role.name, role]));
    const wanted = names.map((name) => known.get(name));
    const closed = wanted.some((role) => role === undefined || (user_type !== null && !role.user_types.includes(user_type)));
    if (closed)
      throw invalid({ pointer, code: 'field.not_allowed', detail: 'names a role that does not exist or is not open to this kind of user' });
    if (wanted.some((role) => role !== undefined && !mayGive(actor, role))) throw new AppError('access.grant_exceeds_own');
  }
}
