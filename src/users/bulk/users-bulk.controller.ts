import {
  Body,
  type CanActivate,
  Controller,
  Delete,
  type ExecutionContext,
  HttpCode,
  Injectable,
  Patch,
  Post,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { Actor } from '../../access/actor';
import { Allow } from '../../access/allow.decorator';
import { CurrentActor } from '../../access/caller.decorator';
import { ParsedQuery } from '../../access/list-query.decorator';
import { LongWork } from '../../access/long-work.decorator';
import { Endpoint } from '../../http/endpoint.decorator';
import { invalid } from '../../http/errors/app-error';
import { PathId } from '../../http/fields/path-id.decorator';
import { filterParameters, type ParameterDoc } from '../../http/lists/parameters';
import { Idempotent } from '../../http/idempotency/idempotent.decorator';
import { OperationHeadersInterceptor } from '../operations/operation-headers.interceptor';
import { OperationResponse } from '../operations/operations.dto';
import { ChangeFoundUsersRequest } from '../users.dto';
import { userFilter } from '../user-list';
import { type BulkQuery, confirmTokenMax, parseBulkQuery } from './bulk-query';
import { BulkPreviewResponse, BulkResultResponse } from './users-bulk.dto';
import { type BulkResponse, UsersBulkService } from './users-bulk.service';

const parameters: ParameterDoc[] = [
  {
    name: 'everyone',
    description: '`true`: all users that the caller may see. Not allowed together with a filter',
    schema: { type: 'boolean', default: false, example: false },
  },
  {
    name: 'dry_run',
    description: '`true`: changes nothing, and returns what would change and a `confirm_token`',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'confirm_token',
    description:
      'Token from the preview of the same request. The request applies to exactly the previewed users. ' +
      'If other users match now, the request fails with `bulk.set_changed`. Valid for 10 minutes, and only once',
    schema: { type: 'string', minLength: 1, maxLength: confirmTokenMax },
  },
  {
    name: 'expected',
    description: 'Number of users that you expect to match. Any other number fails with `bulk.expected_mismatch`',
    schema: { type: 'integer', format: 'int32', minimum: 0, maximum: 999_999_999, example: 120 },
  },
  ...filterParameters(userFilter),
];
// Includes the operation, because many generated clients have one type for all success codes.
const type = {
  name: 'BulkResponse',
  description: 'The result of a bulk change, its preview, or the operation that continues it, by `kind`',
  discriminator: 'kind',
  types: {
    preview: BulkPreviewResponse,
    result: BulkResultResponse,
    change: OperationResponse,
    delete: OperationResponse,
    undo: OperationResponse,
    import: OperationResponse,
  },
};
const answer = {
  status: 200,
  type,
  description: 'The result, or with `dry_run` the preview',
  accepted: { type, description: 'More than 10,000 users match: the operation in the background' },
};
const errors = [
  'bulk.filter_required',
  'bulk.too_many',
  'bulk.expected_mismatch',
  'bulk.set_changed',
  'operation.overlaps',
] as const;
const description =
  'Needs a filter or `everyone=true`. The filters are those of `GET /user/list`, including `attributes.<key>`. ' +
  'Up to 10,000 matching users are processed in one transaction, all or nothing. ' +
  'For more users, the response is 202 with an operation. The operation covers the users that match now, ' +
  'processes them in batches, and continues after a crash. ' +
  'Users that a rule protects are skipped, with the error code of the rule as reason. ' +
  '`POST /user/operation/{operation_id}/undo` restores the users within 30 days.';

/**
 * Rejects `If-Match` on bulk changes. A version belongs to one user. Ignoring the header would
 * change more than the caller wants.
 */
@Injectable()
class NoIfMatchGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<FastifyRequest>();
    if (headers['if-match'] !== undefined)
      throw invalid({
        parameter: 'If-Match',
        code: 'parameter.not_allowed',
        detail: 'is not supported for bulk changes',
      });
    return true;
  }
}

/** Bulk changes: routes that change or delete the users that match a filter. */
@ApiTags('Bulk changes')
@Controller('user/all')
@UseGuards(NoIfMatchGuard)
@UseInterceptors(OperationHeadersInterceptor)
export class UsersBulkController {
  constructor(private readonly bulk: UsersBulkService) {}

  /** Modify the users that match a filter */
  @Patch()
  @Idempotent()
  @Allow('user:update', {
    fresh:
      '`dry_run` is false and the body contains `roles`, `roles_add`, `roles_remove`, `carrier_scope`, ' +
      '`allowed_ips`, `second_factor_required_from`, `reset_second_factors`, `secure`, or a `status` but `disabled`',
  })
  @LongWork()
  @Endpoint({
    description,
    answer,
    errors: [...errors, 'access.grant_exceeds_own'],
  })
  changeUsers(
    @CurrentActor() actor: Actor,
    @ParsedQuery(parseBulkQuery, parameters) query: BulkQuery,
    @Body() request: ChangeFoundUsersRequest,
  ): Promise<BulkResponse> {
    return this.bulk.change(actor, query, request);
  }

  /** Delete the users that match a filter */
  @Delete()
  @Idempotent()
  @Allow('user:delete', { fresh: '`dry_run` is false' })
  @LongWork()
  @Endpoint({
    description: `Deletes softly: deleted users can be restored. ${description}`,
    answer,
    errors: [...errors],
  })
  deleteUsers(
    @CurrentActor() actor: Actor,
    @ParsedQuery(parseBulkQuery, parameters) query: BulkQuery,
  ): Promise<BulkResponse> {
    return this.bulk.delete(actor, query);
  }
}

/** The route that undoes bulk changes. */
@ApiTags('Operations')
@Controller('user/operation')
@UseInterceptors(OperationHeadersInterceptor)
export class UndoController {
  constructor(private readonly bulk: UsersBulkService) {}

  /** Undo an operation */
  @Post(':operation_id/undo')
  @HttpCode(202)
  @Allow(undefined, { apiKeys: true, fresh: true })
  @LongWork()
  @Endpoint({
    description:
      'Restores every user whose `version` has not changed since the operation. Possible for 30 days. ' +
      'Other users are skipped, with the reason. ' +
      'The undo of an import, which requires `user:import` and `user:delete`, deletes the users that it created, ' +
      'as long as they are unchanged and have never logged in. ' +
      'Users that an undo skipped, or did not reach because it was canceled or failed, ' +
      'can be restored by another undo. ' +
      'Changes, deletions and imports can be undone, including those of a canceled operation; undos cannot. ' +
      'Ended sessions stay ended. Permissions, scope and grants at the time of the undo apply. ' +
      'The response is the operation that does the undo. With up to 10,000 users, it has already ended.',
    answer: {
      status: 202,
      type: OperationResponse,
      description: 'The operation that does the undo',
      headers: { Location: 'Path of that operation' },
    },
    errors: ['access.denied', 'operation.not_found', 'operation.not_undoable', 'operation.overlaps'],
    withoutBody: true,
  })
  undoOperation(
    @CurrentActor() actor: Actor,
    @PathId('operation_id') operation_id: string,
  ): Promise<OperationResponse> {
    return this.bulk.undo(actor, operation_id);
  }
}
