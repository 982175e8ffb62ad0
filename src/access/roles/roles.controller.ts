import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, UseInterceptors } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { Actor } from '../actor';
import { Allow } from '../allow.decorator';
import { CurrentActor } from '../caller.decorator';
import { LongWork } from '../long-work.decorator';
import { Endpoint } from '../../http/endpoint.decorator';
import { etagHeader, EtagInterceptor, IfMatch, ifMatchHeader } from '../../http/etag.interceptor';
import { newPrefixParameter } from '../permissions';
import { readBoolean } from '../../http/lists/boolean-parameter';
import type { RawQuery } from '../../http/lists/filter';
import { RoleChangesService } from './role-changes.service';
import { ChangeRoleRequest, CreateRoleRequest, RoleListResponse, RoleResponse } from './roles.dto';
import { RolesService } from './roles.service';

const changeErrors = ['role.not_found', 'role.version_mismatch', 'access.grant_exceeds_own', 'role.in_use'] as const;
const createdHeaders = { ...etagHeader, Location: 'Path of the role' };

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
  @UseInterceptors(EtagInterceptor)
  @LongWork()
  @Endpoint({
    description:
      'For System Users without `carrier_scope`. A role may contain only permissions that the caller holds. ' +
      '`may_grant` may contain only roles that the caller may grant: roles in `may_grant` of a role of the caller, ' +
      'and roles whose permissions the caller holds and whose `may_grant` the caller may grant.',
    answer: { status: 201, type: RoleResponse, description: 'The role', headers: createdHeaders },
    errors: ['role.name_taken', 'access.grant_exceeds_own'],
    query: [newPrefixParameter],
  })
  createRole(
    @CurrentActor() actor: Actor,
    @Body() request: CreateRoleRequest,
    @Query() query: RawQuery,
  ): Promise<RoleResponse> {
    return this.changes.create(actor, request, readBoolean(query, 'new_prefix'));
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
  @UseInterceptors(EtagInterceptor)
  @Endpoint({
    answer: { status: 200, type: RoleResponse, description: 'The role', headers: etagHeader },
    errors: ['role.not_found'],
  })
  getRole(@Param('role') role: string): Promise<RoleResponse> {
    return this.roles.get(role);
  }

  /** Modify a role */
  @Patch(':role')
  @Allow('role:manage', { unscoped: true, fresh: true })
  @UseInterceptors(EtagInterceptor)
  @LongWork()
  @ApiHeader(ifMatchHeader)
  @Endpoint({
    description:
      'For System Users without `carrier_scope`. Absent fields stay unchanged; lists are replaced as a whole. ' +
      'The change takes effect on the next request of every user with the role, on other instances within ' +
      'milliseconds. The caller must be allowed to grant everything that the role grants, ' +
      'before and after the change. Of built-in roles, only ' +
      '`second_factor_required_from` can be changed (`access.denied`).',
    answer: { status: 200, type: RoleResponse, description: 'The role after the change', headers: etagHeader },
    errors: [...changeErrors, 'user.last_administrator'],
    query: [newPrefixParameter],
  })
  changeRole(
    @CurrentActor() actor: Actor,
    @Param('role') role: string,
    @Body() request: ChangeRoleRequest,
    @IfMatch() versions: number[] | null,
    @Query() query: RawQuery,
  ): Promise<RoleResponse> {
    return this.changes.change(actor, role, request, versions, readBoolean(query, 'new_prefix'));
  }

  /** Delete a role */
  @Delete(':role')
  @HttpCode(204)
  @Allow('role:manage', { unscoped: true, fresh: true })
  @LongWork()
  @ApiHeader(ifMatchHeader)
  @Endpoint({
    description:
      'For System Users without `carrier_scope`. Fails while a user has the role or another role lists it in ' +
      '`may_grant`. Deleted users who had the role are restored without it. Built-in roles cannot be deleted ' +
      '(`access.denied`).',
    answer: { status: 204, description: 'The role is deleted' },
    errors: [...changeErrors],
  })
  deleteRole(
    @CurrentActor() actor: Actor,
    @Param('role') role: string,
    @IfMatch() versions: number[] | null,
  ): Promise<void> {
    return this.changes.delete(actor, role, versions);
  }
}
