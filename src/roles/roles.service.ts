import { Injectable } from '@nestjs/common';
import type { Actor, UserType } from '../access/actor';
import { mayGive } from '../access/grant';
import { AppError, invalid } from '../common/errors/app-error';
import { type RoleListResponse, type RoleResponse, toRoleResponse } from './roles.dto';
import { RolesRepository } from './roles.repository';

/** The roles, and what follows from them for who may do what to whom. */
@Injectable()
export class RolesService {
  constructor(private readonly roles: RolesRepository) {}

  /** All roles by name. */
  async list(): Promise<RoleListResponse> {
    const roles = await this.roles.listAll();
    return { items: roles.map(toRoleResponse) };
  }

  /** Names of the roles that the actor may neither give nor take: whoever has one is protected from them. */
  async forbiddenTo(actor: Actor): Promise<string[]> {
    if (actor.permissions.includes('*')) return [];
    const roles = await this.roles.listAll();
    return roles.filter((role) => !mayGive(actor, role)).map(({ name }) => name);
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

  /** Names of the roles that are open to a kind of user. */
  async openTo(user_type: UserType): Promise<string[]> {
    const roles = await this.roles.listAll();
    return roles.filter((role) => role.user_types.includes(user_type)).map(({ name }) => name);
  }
}
