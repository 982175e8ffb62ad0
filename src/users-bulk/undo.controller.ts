import { Controller, HttpCode, Post, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { LongWork } from '../access/long-work.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import { PathId } from '../common/http/path-id.decorator';
import { OperationHeadersInterceptor } from '../operations/operation-headers.interceptor';
import { OperationResponse } from '../operations/operations.dto';
import { UsersBulkService } from './users-bulk.service';

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
      'Users that an undo skipped, or did not reach because it was canceled or failed, ' +
      'can be restored by another undo. ' +
      'Changes and deletions can be undone, including those of a canceled operation; imports and undos cannot. ' +
      'Ended sessions stay ended. Permissions, scope and grants at the time of the undo apply. ' +
      'The response is the operation that does the undo. With up to 10,000 users, it has already ended.',
    answer: {
      status: 202,
      type: OperationResponse,
      description: 'The operation that does the undo',
      headers: { Location: 'Path of that operation' },
    },
    errors: ['operation.not_found', 'operation.not_undoable', 'operation.overlaps'],
    withoutBody: true,
  })
  undoOperation(
    @CurrentActor() actor: Actor,
    @PathId('operation_id') operation_id: string,
  ): Promise<OperationResponse> {
    return this.bulk.undo(actor, operation_id);
  }
}
