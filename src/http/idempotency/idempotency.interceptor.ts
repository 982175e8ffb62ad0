import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { AppError, invalid } from '../errors/app-error';
import { errorKind } from '../errors/error-codes';
import { toAppError } from '../errors/problem';
import { readBoolean } from '../lists/boolean-parameter';
import type { RawQuery } from '../lists/filter';
import { IdempotencyService, type Reservation, type StoredResponse } from './idempotency.service';

const header = 'Idempotency-Key';
/** Matches the accepted keys: visible ASCII characters. */
export const idempotencyKeyForm = /^[!-~]{1,255}$/;

/**
 * Returns the stored response for a repeated request.
 * Runs closest to the handler (`@Idempotent()`). Guards and other interceptors handle a repeated
 * request like any other: access is checked again, and headers are derived from the response again.
 * A dry run changes nothing, so it runs again each time and stores nothing (B32).
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly idempotency: IdempotencyService) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const key = request.headers[header.toLowerCase()];
    if (key === undefined) return next.handle();
    return from(this.handleOnce(String(key), request, context.switchToHttp().getResponse<FastifyReply>(), next));
  }

  private async handleOnce(
    key: string,
    request: FastifyRequest,
    reply: FastifyReply,
    next: CallHandler,
  ): Promise<unknown> {
    if (!idempotencyKeyForm.test(key))
      throw invalid({
        parameter: header,
        code: 'parameter.malformed',
        detail: 'must be 1–255 visible ASCII characters',
        params: { min: 1, max: 255, unit: 'characters' },
      });
    if (request.actor === undefined) throw new Error('@Idempotent on a route without @Allow');
    if (readBoolean(request.query as RawQuery, 'dry_run')) return lastValueFrom(next.handle());
    const [path = ''] = request.originalUrl.split('?');
    const { actor, method, query } = request;
    const body = request.upload ?? request.body;
    const reserved = await this.idempotency.reserve({ actor, method, path, key, query, body });
    return 'reservation_id' in reserved ? this.handle(reserved, reply, next) : replay(reserved, reply);
  }

  private async handle(reservation: Reservation, reply: FastifyReply, next: CallHandler): Promise<unknown> {
    const [response, error] = await this.idempotency
      .run(reservation, () => lastValueFrom(next.handle(), { defaultValue: undefined }))
      .then(
        (body: unknown): [StoredResponse, null] => [{ status: reply.statusCode, body }, null],
        (thrown: unknown): [StoredResponse | null, Error] => [refusalOf(thrown), thrown as Error],
      );
    const isOwner = await this.idempotency.settle(reservation, response);
    // The request that took this one over may be the cause of the error, such as a taken name.
    if (error !== null) throw isOwner ? error : new AppError('idempotency.in_progress');
    return response?.body;
  }
}

/**
 * Returns the response of an error, or null for 401, 429 and 5xx: the same request may succeed
 * later, after a reauthentication for example.
 */
function refusalOf(thrown: unknown): StoredResponse | null {
  const { code, extras } = toAppError(thrown);
  const { status } = errorKind(code);
  return status === 401 || status === 429 || status >= 500 ? null : { status, refusal: { code, extras } };
}

function replay({ status, body, refusal }: StoredResponse, reply: FastifyReply): unknown {
  if (refusal !== undefined) throw new AppError(refusal.code, refusal.extras);
  void reply.status(status);
  return body;
}
