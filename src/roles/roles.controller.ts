import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { LongWork } from '../access/long-work.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import { RoleChangesService } from './role-changes.service';
import { RoleHeadersInterceptor } from './role-headers.interceptor';
import { ChangeRoleRequest, CreateRoleRequest, RoleListResponse, RoleResponse } from './roles.dto';
import { RolesService } from './roles.service';

/** Routes for roles. */
@ApiTags('Roles')
@Controller('role')
export class RolesController {
  constructor(
    private readonly roles: RolesService,
    private readonly changes: RoleChangesService,
  ) {}

  /** Create a role */
  @Post('create')
  @Allow('role:manage', { unscoped: true, fresh: true })
  @UseInterceptors(RoleHeadersInterceptor)
  @LongWork()
  @Endpoint({
    description:
      'For System Users without `carrier_scope`. A role may contain only permissions that the caller holds. ' +
      '`may_grant` may contain only roles that the caller may grant: roles in `may_grant` of a role of the caller, ' +
      'and roles whose permissions the caller holds and whose `may_grant` the caller may grant.',
    answer: { status: 201, type: RoleResponse, description: 'The role', headers: { Location: 'Path of the role' } },
    errors: ['role.name_taken', 'access.grant_exceeds_own'],
  })
  createRole(@CurrentActor() actor: Actor, @Body() request: CreateRoleRequest): Promise<RoleResponse> {
    return this.changes.create(actor, request);
  }

  /** List the roles */
  @Get('list')
  @Allow('role:read')
  @LongWork()
  @Endpoint({ answer: { status: 200, type: RoleListResponse, description: 'All roles, sorted by name' } })
  listRoles(): Promise<RoleListResponse> {
    return this.roles.list();
  }

  /** Get one role */
  @Get(':role')
  @Allow('role:read')
  @Endpoint({ answer: { status: 200, type: RoleResponse, description: 'The role' }, errors: ['role.not_found'] })
  getRole(@Param('role') role: string): Promise<RoleResponse> {
    return this.roles.get(role);
  }

  /** Modify a role */
  @Patch(':role')
  @Allow('role:manage', { unscoped: true, fresh: true })
  @LongWork()
  @Endpoint({
    description:
      'For System Users without `carrier_scope`. Absent fields stay unchanged; lists are replaced as a whole. ' +
      'The change takes effect on the next request of every user with the role, on other instances within ' +
      'milliseconds. The caller must be allowed to grant everything that the role grants, ' +
      'before and after the change. Of built-in roles, only ' +
      '`second_factor_required_from` can be changed (`access.denied`).',
    answer: { status: 200, type: RoleResponse, description: 'The role after the change' },
    errors: ['role.not_found', 'access.grant_exceeds_own', 'role.in_use', 'user.last_administrator'],
  })
  changeRole(
    @CurrentActor() actor: Actor,
    @Param('role') role: string,
    @Body() request: ChangeRoleRequest,
  ): Promise<RoleResponse> {
    return this.changes.change(actor, role, request);
  }

  /** Delete a role */
  @Delete(':role')
  @HttpCode(204)
  @Allow('role:manage', { unscoped: true, fresh: true })
  @LongWork()
  @Endpoint({
    description:
      'For System Users without `carrier_scope`. Fails while a user has the role or another role lists it in ' +
      '`may_grant`. Deleted users who had the role are restored without it. Built-in roles cannot be deleted ' +
      '(`access.denied`).',
    answer: { status: 204, description: 'The role is deleted' },
    errors: ['role.not_found', 'access.grant_exceeds_own', 'role.in_use'],
  })
  deleteRole(@CurrentActor() actor: Actor, @Param('role') role: string): Promise<void> {
    return this.changes.delete(actor, role);
  }
}
