import { type CallHandler, type ExecutionContext, Inject, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { map, type Observable } from 'rxjs';
import { CONFIG, type Config } from '../../platform/config/config';
import type { OperationResponse } from './operations.dto';

/**
 * Sets the header `Location` if the response is an operation, and the status 202 unless the
 * operation is done.
 */
@Injectable()
export class OperationHeadersInterceptor implements NestInterceptor {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return next.handle().pipe(
      map((body: unknown) => {
        const { operation_id, status } = (body ?? {}) as Partial<OperationResponse>;
        // The result of a bulk change has no status.
        if (operation_id === undefined || status === undefined) return body;
        if (status !== 'done') reply.status(202);
        void reply.header('location', `${this.config.BASE_PATH}/user/operation/${operation_id}`);
        return body;
      }),
    );
  }
}
