import {
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { map, type Observable } from 'rxjs';

/**
 * Adds `ETag` to responses to changes of one user, and `Location` to the response with a new user.
 * The path of the new user replaces the last segment of the request's path.
 */
@Injectable()
export class EtagInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const reply = http.getResponse<FastifyReply>();
    return next.handle().pipe(
      map((body: unknown) => {
        const { user_id, version } = (body ?? {}) as { user_id?: string; version?: number };
        if (user_id === undefined || version === undefined) return body;
        setEtag(reply, version);
        if (reply.statusCode === 201) {
          const [path = ''] = http.getRequest<FastifyRequest>().url.split('?');
          reply.header('location', `${path.slice(0, path.lastIndexOf('/'))}/${user_id}`);
        }
        return body;
      }),
    );
  }
}

/**
 * Sets the `ETag` of a response with one user.
 * For handlers that are called often: an interceptor takes 6 % of the CPU time of such a request.
 */
export function setEtag(reply: FastifyReply, version: number): void {
  void reply.header('etag', `"${version}"`);
}

/**
 * Injects the versions of `If-Match` (RFC 9110 §13.1.1), or null if any version matches. A tag of
 * another form matches no version.
 */
export const IfMatch = createParamDecorator((_data: unknown, context: ExecutionContext): number[] | null => {
  const header = context.switchToHttp().getRequest<FastifyRequest>().headers['if-match'];
  if (header === undefined || header.trim() === '*') return null;
  return header.split(',').flatMap((tag) => {
    const version = /^"(\d{1,9})"$/.exec(tag.trim())?.[1];
    return version === undefined ? [] : [Number(version)];
  });
});
