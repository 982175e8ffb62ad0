import { Controller, Delete, Get, HttpCode } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../access/actor';
import { Allow } from '../../access/allow.decorator';
import { CurrentActor } from '../../access/caller.decorator';
import { SingleWrite } from '../../access/long-work.decorator';
import { Endpoint } from '../../http/endpoint.decorator';
import { PathId } from '../../http/fields/path-id.decorator';
import { FactorChangesService } from './factor-changes.service';
import { FactorListResponse } from './factors.dto';

/** The second factors of other users. */
@ApiTags('Second factors')
@Controller('user/:user_id/factor')
export class UserFactorsController {
  constructor(private readonly changes: FactorChangesService) {}

  /** List the second factors of a user */
  @Get('list')
  @Allow('user:read')
  @Endpoint({
    description: 'Only confirmed factors. Never contains a secret.',
    answer: { status: 200, type: FactorListResponse, description: 'The factors and the number of recovery codes' },
    errors: ['user.not_found'],
  })
  listUserFactors(@CurrentActor() actor: Actor, @PathId('user_id') user_id: string): Promise<FactorListResponse> {
    return this.changes.listOf(actor, user_id);
  }

  /** Reset the second factors of a user */
  @Delete('all')
  @HttpCode(204)
  // A leaked API key must not remove the second factor that protects a login (M11).
  @Allow('user:reset_factors', { apiKeys: false, fresh: true })
  @SingleWrite()
  @Endpoint({
    description:
      'Removes all factors and recovery codes of another user, ends the sessions of the user, and notifies the user ' +
      'by mail. Does nothing if the user has no factor.',
    answer: { status: 204, description: 'The user has no second factor' },
    errors: ['user.not_found', 'user.self_protected', 'access.protected_user'],
  })
  resetUserFactors(@CurrentActor() actor: Actor, @PathId('user_id') user_id: string): Promise<void> {
    return this.changes.reset(actor, user_id);
  }

  /** Remove a second factor of a user */
  @Delete(':factor_id')
  @HttpCode(204)
  @Allow('user:reset_factors', { apiKeys: false, fresh: true })
  @SingleWrite()
  @Endpoint({
    description:
      'Removes one factor of another user, ends the sessions of the user, and notifies the user by mail. ' +
      'With the last factor, the recovery codes are removed, too.',
    answer: { status: 204, description: 'The user does not have this factor' },
    errors: ['user.not_found', 'factor.not_found', 'user.self_protected', 'access.protected_user'],
  })
  removeUserFactor(
    @CurrentActor() actor: Actor,
    @PathId('user_id') user_id: string,
    @PathId('factor_id') factor_id: string,
  ): Promise<void> {
    return this.changes.removeOf(actor, user_id, factor_id);
  }
}
