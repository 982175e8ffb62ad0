import { Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { LongWork, SingleWrite } from '../access/long-work.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import { PathId } from '../common/http/path-id.decorator';
import type { RawQuery } from '../common/query/filter';
import { listParameters } from '../common/query/parameters';
import { operationList } from './operation-list';
import { OperationListResponse, OperationResponse } from './operations.dto';
import { OperationsService } from './operations.service';

const visibility =
  'Requires the same permission as the operation itself. Callers see their own operations; ' +
  'System Users without a carrier scope see all operations.';

/** Routes to follow and cancel operations. */
@ApiTags('Operations')
@Controller('user/operation')
export class OperationsController {
  constructor(private readonly operations: OperationsService) {}

  /** List operations */
  @Get('list')
  @Allow(undefined, { apiKeys: true })
  @LongWork()
  @Endpoint({
    description: visibility,
    answer: { status: 200, type: OperationListResponse, description: 'One page of operations' },
    errors: ['page.too_deep', 'page.cursor_invalid'],
    query: listParameters(operationList),
    grammar: true,
  })
  listOperations(@CurrentActor() actor: Actor, @Query() query: RawQuery): Promise<OperationListResponse> {
    return this.operations.list(actor, query);
  }

  /** Follow an operation */
  @Get(':operation_id')
  @Allow(undefined, { apiKeys: true })
  @Endpoint({
    description: visibility,
    answer: { status: 200, type: OperationResponse, description: 'The operation' },
    errors: ['operation.not_found'],
  })
  getOperation(@CurrentActor() actor: Actor, @PathId('operation_id') operation_id: string): Promise<OperationResponse> {
    return this.operations.get(actor, operation_id);
  }

  /** Cancel an operation */
  @Post(':operation_id/cancel')
  @HttpCode(202)
  @Allow(undefined, { apiKeys: true })
  @SingleWrite()
  @Endpoint({
    description:
      'The operation ends before its next batch. Finished batches stay in effect and can be undone. ' +
      `Canceling an operation that has ended has no effect. ${visibility}`,
    answer: { status: 202, type: OperationResponse, description: 'The operation' },
    errors: ['operation.not_found'],
    withoutBody: true,
  })
  cancelOperation(
    @CurrentActor() actor: Actor,
    @PathId('operation_id') operation_id: string,
  ): Promise<OperationResponse> {
    return this.operations.cancel(actor, operation_id);
  }
}
