import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AppError } from './app-error';
import { type ErrorCode, errorKind } from './error-codes';
import { problemHeaders, shownPath, toAppError, toProblem } from './problem';
import { traceIdOf } from '../trace-id';

declare module 'fastify' {
  interface FastifyRequest {
    /** error code of the response, for the access log */
    errorCode?: ErrorCode;
  }
}

/**
 * Converts every thrown error to an `application/problem+json` response.
 * Logs server errors with the request id, except errors that the service raises on purpose, for
 * example without a database: the access log has a line with their code for each request.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  /**
   * @param base public URL of the service, for `type`
   * @param fresh_auth_seconds time in which an authentication is fresh, for the challenge of a 401
   * @param limited counts a rejected request, and returns the error of its response
   */
  constructor(
    private readonly base: string,
    private readonly fresh_auth_seconds: number,
    private readonly limited: (error: AppError, request: FastifyRequest) => Promise<AppError>,
  ) {}

  async catch(thrown: unknown, host: ArgumentsHost): Promise<void> {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const error = await this.limited(toAppError(thrown), request);
    const ids = { reqId: request.id, trace_id: request.span?.spanContext().traceId ?? traceIdOf(request.headers) };
    request.errorCode = error.code;
    if (errorKind(error.code).status >= 500 && error !== thrown) request.log.error({ ...ids, err: thrown }, error.code);
    // The access log has no line for a request that the client aborted.
    if (request.raw.destroyed && !request.raw.complete)
      request.log.debug({ ...ids, code: error.code }, 'request aborted by the client');
    if (reply.sent) return;
    const problem = toProblem(error, this.base, shownPath(request.originalUrl), request.id);
    const headers = problemHeaders(error, this.fresh_auth_seconds);
    void reply.status(problem.status).headers(headers).send(JSON.stringify(problem));
  }
}
