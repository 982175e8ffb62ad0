import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { clientGone } from '../common/http/client-gone.decorator';
import { Admission, workOwnerOf } from './admission';

/** Runs a handler as soon as the admission has a place for its actor. */
@Injectable()
class LongWorkInterceptor implements NestInterceptor {
  constructor(private readonly admission: Admission) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const { actor } = http.getRequest<FastifyRequest>();
    if (actor === undefined) throw new Error('@LongWork on a route without @Allow');
    const gone = clientGone(http.getResponse<FastifyReply>());
    const work = () => lastValueFrom(next.handle(), { defaultValue: undefined });
    return from(this.admission.run(workOwnerOf(actor), work, gone));
  }
}

/**
 * Marks a route that reads or changes many rows. Its requests take a place of the `Admission` for
 * the whole handler, so the handler must run one statement or transaction at a time.
 */
export function LongWork(): MethodDecorator {
  return applyDecorators(UseInterceptors(LongWorkInterceptor), ApiExtension('x-long-work', true));
}
