import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { AppError, invalid } from '../common/errors/app-error';
import { errorKind } from '../common/errors/error-codes';
import { toAppError } from '../common/http/problem';
import { type Claim, IdempotencyService, type KeptAnswer } from './idempotency.service';

const header = 'Idempotency-Key';
/** Matches the keys that are accepted: visible ASCII, long enough for anything random. */
export const idempotencyKeyForm = /^[!-~]{1,255}$/;

/**
 * Answers a repeated request as the first time. It stands closest to the handler, by
 * `@Idempotent()`: guards and other interceptors see a repetition like any other request, so access
 * is checked anew, and headers that are made from the answer come out the same.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly idempotency: IdempotencyService) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const key = request.headers[header.toLowerCase()];
    if (key === undefined) return next.handle();
    return from(this.once(String(key), request, context.switchToHttp().getResponse<FastifyReply>(), next));
  }

  private async once(key: string, request: FastifyRequest, reply: FastifyReply, next: CallHandler): Promise<unknown> {
    if (!idempotencyKeyForm.test(key))
      throw invalid({
        parameter: header,
        code: 'parameter.malformed',
        detail: 'must be 1–255 visible ASCII characters',
      });
    if (request.actor === undefined) throw new Error('@Idempotent on a route without @Allow');
    const [path = ''] = request.originalUrl.split('?');
    const { actor, method, query } = request;
    const body = request.upload ?? request.body;
    const claim = await this.idempotency.claim({ actor, method, path, key, query, body });
    return 'claim_id' in claim ? this.first(claim, reply, next) : again(claim, reply);
  }

  private async first(claim: Claim, reply: FastifyReply, next: CallHandler): Promise<unknown> {
    const [answer, error] = await this.idempotency
      .during(claim, () => lastValueFrom(next.handle(), { defaultValue: undefined }))
      .then(
        (body: unknown): [KeptAnswer, null] => [{ status: reply.statusCode, body }, null],
        (thrown: unknown): [KeptAnswer | null, Error] => [refusalOf(thrown), thrown as Error],
      );
    await this.idempotency.settle(claim, answer);
    if (error !== null) throw error;
    return answer?.body;
  }
}

/** 429 and 5xx are not kept: the same request may succeed later. */
function refusalOf(thrown: unknown): KeptAnswer | null {
  const { code, extras } = toAppError(thrown);
  const { status } = errorKind(code);
  return status === 429 || status >= 500 ? null : { status, refusal: { code, extras } };
}

function again({ status, body, refusal }: KeptAnswer, reply: FastifyReply): unknown {
  if (refusal !== undefined) throw new AppError(refusal.code, refusal.extras);
  void reply.status(status);
  return body;
}
