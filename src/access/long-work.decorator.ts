import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type InjectionToken,
  type NestInterceptor,
  type Type,
  UseInterceptors,
} from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { clientGone } from '../http/client-gone.decorator';
import { Admission, singleWrites, workOwnerOf } from './admission';

/** Creates an interceptor that runs a handler once the admission has a place for its actor. */
function admittedBy(token: InjectionToken): Type<NestInterceptor> {
  @Injectable()
  class AdmissionInterceptor implements NestInterceptor {
    constructor(@Inject(token) private readonly admission: Admission) {}

    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      const http = context.switchToHttp();
      const { actor } = http.getRequest<FastifyRequest>();
      if (actor === undefined) throw new Error('an admission on a route without @Allow');
      const gone = clientGone(http.getResponse<FastifyReply>());
      const work = () => lastValueFrom(next.handle(), { defaultValue: undefined });
      return from(this.admission.run(workOwnerOf(actor), work, gone));
    }
  }
  return AdmissionInterceptor;
}

const LongWorkInterceptor = admittedBy(Admission);
const SingleWriteInterceptor = admittedBy(singleWrites);

/**
 * Marks a route that reads or changes many rows. Its requests take a place of the `Admission` for
 * the whole handler, so the handler must run one statement or transaction at a time.
 */
export function LongWork(): MethodDecorator {
  return applyDecorators(UseInterceptors(LongWorkInterceptor), ApiExtension('x-long-work', true));
}

/**
 * Marks a route that changes one user, session, key or operation. Its requests may wait for the
 * locks of a bulk change or an import of the same caller, so they take a place of `singleWrites`.
 */
export function SingleWrite(): MethodDecorator {
  return UseInterceptors(SingleWriteInterceptor);
}
