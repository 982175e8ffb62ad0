import { Controller, HttpCode, Param, ParseUUIDPipe, Post, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { Endpoint } from '../common/http/endpoint.decorator';
import { OperationHeadersInterceptor } from '../operations/operation-headers.interceptor';
import { OperationResponse } from '../operations/operations.dto';
import { UsersBulkService } from './users-bulk.service';

/** Undoing what was done to found users. */
@ApiTags('Operations')
@Controller('user/operation')
@UseInterceptors(OperationHeadersInterceptor)
export class UndoController {
  constructor(private readonly bulk: UsersBulkService) {}

  /** Undo an operation */
  @Post(':operation_id/undo')
  @HttpCode(202)
  @Allow(undefined, { keys: true })
  @Endpoint({
    description:
      'Puts back every user whose `version` still is the one that the operation left; the others are skipped, with the reason. Within 30 days, once; also what a canceled operation has done, and again what a canceled or failed undo has left. For changes and deletions: an import or an undo cannot be undone. Sessions stay ended. Permission, scope and grants count as of now. The answer is the operation that does it: up to 10,000 users are done already.',
    answer: {
      status: 202,
      type: OperationResponse,
      description: 'The operation that undoes it',
      headers: { Location: 'Path of that operation' },
    },
    errors: ['operation.not_found', 'operation.not_undoable', 'operation.overlaps'],
    noBody: true,
  })
  undo(
    @CurrentActor() actor: Actor,
    @Param('operation_id', new ParseUUIDPipe({ errorHttpStatusCode: 404 })) operation_id: string,
  ): Promise<OperationResponse> {
    return this.bulk.undo(actor, operation_id);
  }
}
