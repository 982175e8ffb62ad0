import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Allow } from '../access/allow.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import { RoleListResponse } from './roles.dto';
import { RolesService } from './roles.service';

/** Roles. */
@ApiTags('Roles')
@Controller('role')
export class RolesController {
  constructor(private readonly roles: RolesService) {}

  /** List the roles */
  @Get('list')
  @Allow('role:read')
  @Endpoint({ answer: { status: 200, type: RoleListResponse, description: 'All roles by name' } })
  list(): Promise<RoleListResponse> {
    return this.roles.list();
  }
}
