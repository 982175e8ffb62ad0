import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Actor } from '../actor';
import { giveableRoles, holdsAll } from '../grant';
import { misspeltPermissions } from '../permissions';
import { AppError, type FieldError, invalid } from '../../http/errors/app-error';
import { EventsService } from '../../audit/events.service';
import type { Changes } from '../../audit/event.entity';
import type { RoleEntity } from './role.entity';
import { type ChangeRoleRequest, type CreateRoleRequest, type RoleResponse, toRoleResponse } from './roles.dto';
import { RolesRepository } from './roles.repository';

const fields = ['description', 'user_types', 'permissions', 'may_grant', 'second_factor_required_from'] as const;

/** Creates, changes and deletes roles, one role at a time and never while roles are granted. */
@Injectable()
export class RoleChangesService {
  constructor(
    private readonly roles: RolesRepository,
    private readonly events: EventsService,
  ) {}

  /** Creates a role. @throws request.invalid, access.grant_exceeds_own, role.name_taken */
  @Transactional()
  async create(actor: Actor, request: CreateRoleRequest, newPrefix: boolean): Promise<RoleResponse> {
    const known = await this.lockAll();
    const lists = { user_types: [], permissions: [], may_grant: [] };
    const empty = { description: '', ...lists, second_factor_required_from: null, built_in: false, version: 1 };
    const role = merged({ name: request.name, ...empty }, request);
    const all = [...known, role];
    assertKnown(request, all, misspeltPermissions(role.permissions, newPrefix));
    assertWithinOwn(actor, role, all);
    await this.roles.insert(role);
    await this.events.record(actor, 'role.created', {}, changesOf(null, role));
    return toRoleResponse(role);
  }

  /**
   * Changes a role. Takes effect on the next request of every user with the role, on other
   * instances within milliseconds (ADR 0010). Records no event if nothing changes.
   * @throws role.not_found, access.denied, request.invalid, access.grant_exceeds_own,
   * role.version_mismatch, role.in_use, user.last_administrator
   */
  @Transactional()
  async change(
    actor: Actor,
    name: string,
    request: ChangeRoleRequest,
    versions: number[] | null,
    newPrefix: boolean,
  ): Promise<RoleResponse> {
    const known = await this.lockAll();
    const before = changeable(known, name, request);
    const role = { ...merged(before, request), version: before.version + 1 };
    const after = known.map((other) => (other === before ? role : other));
    // A role that has a misspelt permission can still be changed.
    const added = role.permissions.filter((permission) => !before.permissions.includes(permission));
    assertKnown(request, after, misspeltPermissions(added, newPrefix));
    assertWithinOwn(actor, before, known);
    assertWithinOwn(actor, role, after);
    if (versions?.includes(before.version) === false) throw new AppError('role.version_mismatch');
    if (differing(before, role).length === 0) return toRoleResponse(before);
    await this.assertRemovedTypesUnused(before, role);
    await this.write(before, role);
    await this.events.record(actor, 'role.changed', {}, changesOf(before, role));
    return toRoleResponse(role);
  }

  /**
   * Deletes a role that no user has. Deleted users who had the role are restored without it.
   * @throws role.not_found, access.denied, access.grant_exceeds_own, role.version_mismatch,
   * role.in_use
   */
  @Transactional()
  async delete(actor: Actor, name: string, versions: number[] | null): Promise<void> {
    const known = await this.lockAll();
    const role = changeable(known, name);
    assertWithinOwn(actor, role, known);
    if (versions?.includes(role.version) === false) throw new AppError('role.version_mismatch');
    if (known.some((other) => other !== role && other.may_grant.includes(name)))
      throw new AppError('role.in_use', { detail: 'Another role lists this role in `may_grant`.' });
    if ((await this.roles.userTypesOfHolders(name)).length > 0)
      throw new AppError('role.in_use', { detail: 'At least one user has this role.' });
    await this.roles.delete(name);
    await this.events.record(actor, 'role.deleted', {}, changesOf(role, null));
  }

  /** Locks the roles, then reads them: the previous holder of the lock may have changed them. */
  private async lockAll(): Promise<RoleEntity[]> {
    await this.roles.lock();
    return (await this.roles.listAll()).map((role) => merged(role, {}));
  }

  private async assertRemovedTypesUnused(before: RoleEntity, after: RoleEntity): Promise<void> {
    const removed = before.user_types.filter((user_type) => !after.user_types.includes(user_type));
    if (removed.length === 0) return;
    const holders = await this.roles.userTypesOfHolders(before.name);
    if (removed.some((user_type) => holders.includes(user_type)))
      throw new AppError('role.in_use', { detail: 'A user of a removed user type has this role.' });
  }

  /**
   * Stores a role. Removing `*` demotes all administrators with the role, so the last administrator
   * is protected here too (ASVS 15.4.2).
   */
  private async write(before: RoleEntity, after: RoleEntity): Promise<void> {
    const demotes = before.permissions.includes('*') && !after.permissions.includes('*');
    if (demotes) await this.roles.lockAdministrators();
    await this.roles.update(after);
    if (demotes && !(await this.roles.hasAdministrator())) throw new AppError('user.last_administrator');
  }
}

/** Applies a request to a role, with sorted lists. */
function merged(role: RoleEntity, request: ChangeRoleRequest): RoleEntity {
  const {
    description,
    user_types,
    permissions,
    may_grant,
    second_factor_required_from: from,
  } = { ...role, ...request };
  return {
    ...role,
    description: description ?? '',
    user_types: [...user_types].sort(),
    permissions: [...permissions].sort(),
    may_grant: [...may_grant].sort(),
    second_factor_required_from: from === null ? null : new Date(from),
  };
}

/** Returns the role that a request changes, or deletes if there is no request. */
function changeable(known: RoleEntity[], name: string, request?: ChangeRoleRequest): RoleEntity {
  const role = known.find((other) => other.name === name);
  if (role === undefined) throw new AppError('role.not_found');
  const fixed = request === undefined || Object.keys(request).some((field) => field !== 'second_factor_required_from');
  if (role.built_in && fixed)
    throw new AppError('access.denied', {
      detail: 'Built-in roles cannot be deleted. Only `second_factor_required_from` can be changed.',
    });
  return role;
}

/** Rejects misspelt permissions and roles that do not exist. @throws request.invalid */
function assertKnown({ may_grant = [] }: ChangeRoleRequest, all: RoleEntity[], errors: FieldError[]): void {
  if (!may_grant.every((name) => all.some((role) => role.name === name)))
    errors.push({ pointer: '/may_grant', code: 'field.not_allowed', detail: 'names a role that does not exist' });
  if (errors.length > 0) throw invalid(...errors);
}

/**
 * Rejects a role with permissions that the actor lacks, or with roles that the actor may not grant.
 */
function assertWithinOwn(actor: Actor, role: RoleEntity, all: RoleEntity[]): void {
  const giveable = giveableRoles(actor, all);
  if (!holdsAll(actor, role) || !role.may_grant.every((name) => giveable.has(name)))
    throw new AppError('access.grant_exceeds_own');
}

function differing(before: RoleEntity | null, after: RoleEntity | null): (keyof RoleEntity)[] {
  return fields.filter((field) => !isDeepStrictEqual(before?.[field], after?.[field]));
}

/** Returns the changes that an event records: the name, and the fields that differ. */
function changesOf(before: RoleEntity | null, after: RoleEntity | null): Changes {
  return Object.fromEntries(
    ['name' as const, ...differing(before, after)].map((field) => [
      field,
      { ...(before === null ? {} : { before: before[field] }), ...(after === null ? {} : { after: after[field] }) },
    ]),
  );
}
