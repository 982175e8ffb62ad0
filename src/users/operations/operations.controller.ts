import { Controller, Get, HttpCode, Post } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../../access/actor';
import { Allow } from '../../access/allow.decorator';
import { CurrentActor } from '../../access/caller.decorator';
import { ListQuery } from '../../access/list-query.decorator';
import { LongWork, SingleWrite } from '../../access/long-work.decorator';
import { Endpoint } from '../../http/endpoint.decorator';
import { PathId } from '../../http/fields/path-id.decorator';
import { operationList } from './operation-list';
import { OperationListResponse, OperationResponse } from './operations.dto';
import { OperationsService, readerOf } from './operations.service';

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
  })
  listOperations(
    @CurrentActor() actor: Actor,
    @ListQuery(operationList, readerOf) query: ListQuery,
  ): Promise<OperationListResponse> {
    return this.operations.list(actor, query);
  }

  /** Follow an operation */
  @Get(':operation_id')
  @RouteConfig({ showsChanges: true })
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
