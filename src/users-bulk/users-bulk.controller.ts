import { Body, Controller, Delete, Patch, Query, UseGuards } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import type { RawQuery } from '../common/query/filter';
import { filterParameters } from '../common/query/parameters';
import { ChangeFoundUsersRequest } from '../users/users.dto';
import { userFilter } from '../users/users.service';
import { NoIfMatchGuard } from './no-if-match.guard';
import { BulkResultResponse } from './users-bulk.dto';
import { UsersBulkService } from './users-bulk.service';

const parameters = [
  ...filterParameters(userFilter),
  {
    name: 'everyone',
    description: '`true`: all that the caller may see; not together with a filter',
    schema: { type: 'boolean', default: false },
  },
  { name: 'dry_run', description: '`true`: changes nothing and tells what would be changed', schema: { type: 'boolean', default: false } },
  {
    name: 'expected',
    description: 'Refuse with `bulk.expected_mismatch` when the filter finds any other number of users',
    schema: { type: 'integer', minimum: 0 },
  },
];
const answer = { status: 200, type: BulkResultResponse, description: 'What was done, or with `dry_run` what would be' };

/** Change and delete what a filter finds. */
@ApiTags('Found users')
@Controller('user/all')
@UseGuards(NoIfMatchGuard)
export class UsersBulkController {
  constructor(private readonly bulk: UsersBulkService) {}

  /** Modify multiple found users */
  @Patch()
  @Allow('user:update')
  @Endpoint({
    description:
      'All found users in one transaction, at most 10,000. A filter is required, or `everyone=true`. Users that may not be changed are skipped, with the code of the rule as reason.',
    answer,
    errors: ['bulk.filter_required', 'bulk.too_many', 'bulk.expected_mismatch', 'access.grant_exceeds_own'],
    query: parameters,
    grammar: true,
  })
  change(@CurrentActor() actor: Actor, @Query() query: RawQuery, @Body() request: ChangeFoundUsersRequest): Promise<BulkResultResponse> {
    return this.bulk.change(actor, query, request);
  }

  /** Delete multiple found users */
  @Delete()
  @Allow('user:delete')
  @Endpoint({
    description: 'Softly, all found users in one transaction, at most 10,000. A filter is required, or `everyone=true`.',
    answer,
    errors: ['bulk.filter_required', 'bulk.too_many', 'bulk.expected_mismatch'],
    query: parameters,
    grammar: true,
  })
  delete(@CurrentActor() actor: Actor, @Query() query: RawQuery): Promise<BulkResultResponse> {
    return this.bulk.delete(actor, query);
  }
}
