import { Body, Controller, Delete, Patch, Query, UseGuards, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import type { RawQuery } from '../common/query/filter';
import { filterParameters, type ParameterDoc } from '../common/query/parameters';
import { Idempotent } from '../idempotency/idempotent.decorator';
import { OperationHeadersInterceptor } from '../operations/operation-headers.interceptor';
import { OperationResponse } from '../operations/operations.dto';
import { ChangeFoundUsersRequest } from '../users/users.dto';
import { userFilter } from '../users/users.service';
import { confirmTokenMax } from './bulk-query';
import { NoIfMatchGuard } from './no-if-match.guard';
import { BulkPreviewResponse, BulkResultResponse } from './users-bulk.dto';
import { type BulkAnswer, UsersBulkService } from './users-bulk.service';

const parameters: ParameterDoc[] = [
  ...filterParameters(userFilter),
  {
    name: 'everyone',
    description: '`true`: all that the caller may see; not together with a filter',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'dry_run',
    description: '`true`: changes nothing, tells what would be changed, and gives a `confirm_token`',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'confirm_token',
    description:
      'Of the preview of this very request: it applies to exactly the users that were shown, or is refused with `bulk.set_changed`. Good for 10 minutes, and once',
    schema: { type: 'string', minLength: 1, maxLength: confirmTokenMax },
  },
  {
    name: 'expected',
    description: 'Refuse with `bulk.expected_mismatch` when the filter finds any other number of users',
    schema: { type: 'integer', minimum: 0, maximum: 999_999_999 },
  },
];
const answer = {
  status: 200,
  type: [BulkResultResponse, BulkPreviewResponse],
  description: 'What was done, or with `dry_run` what would be',
  accepted: { type: OperationResponse, description: 'More than 10,000 users were found: the operation that goes on' },
};
const description =
  'A filter is required, or `everyone=true`; filters are those of `GET /user/list`, `attributes.<key>` too. Up to 10,000 found users are done in one transaction, all or nothing; for more the set is fixed, the answer is 202, and an operation does them in batches, surviving any crash. Users that may not be changed are skipped, with the code of the rule as reason. `POST /user/operation/{operation_id}/undo` puts back what was changed, for 30 days.';

/** Change and delete what a filter finds. */
@ApiTags('Found users')
@Controller('user/all')
@UseGuards(NoIfMatchGuard)
@UseInterceptors(OperationHeadersInterceptor)
export class UsersBulkController {
  constructor(private readonly bulk: UsersBulkService) {}

  /** Modify multiple found users */
  @Patch()
  @Idempotent()
  @Allow('user:update')
  @Endpoint({
    description,
    answer,
    errors: [
      ...([
        'bulk.filter_required',
        'bulk.too_many',
        'bulk.expected_mismatch',
        'bulk.set_changed',
        'operation.overlaps',
      ] as const),
      'access.grant_exceeds_own',
    ],
    query: parameters,
    grammar: true,
  })
  change(
    @CurrentActor() actor: Actor,
    @Query() query: RawQuery,
    @Body() request: ChangeFoundUsersRequest,
  ): Promise<BulkAnswer> {
    return this.bulk.change(actor, query, request);
  }

  /** Delete multiple found users */
  @Delete()
  @Idempotent()
  @Allow('user:delete')
  @Endpoint({
    description: `Softly. ${description}`,
    answer,
    errors: [
      'bulk.filter_required',
      'bulk.too_many',
      'bulk.expected_mismatch',
      'bulk.set_changed',
      'operation.overlaps',
    ],
    query: parameters,
    grammar: true,
  })
  delete(@CurrentActor() actor: Actor, @Query() query: RawQuery): Promise<BulkAnswer> {
    return this.bulk.delete(actor, query);
  }
}
