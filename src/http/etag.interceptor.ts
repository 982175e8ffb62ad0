import {
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { map, type Observable } from 'rxjs';

/** Documents the `ETag` of a response with one user or role. */
export const etagHeader = { ETag: '`version`, for `If-Match`' };

/** Documents `If-Match` of a request that changes one user or role. */
export const ifMatchHeader = {
  name: 'If-Match',
  required: false,
  description: '`ETag` of the version that the caller expects. Fails with 412 if the current version differs',
  schema: { type: 'string' as const, example: '"3"' },
};

/**
 * Adds `ETag` to responses with one user or role, and `Location` to the response with a new one.
 * Its path is the path of the request with the id or name as the last segment.
 */
@Injectable()
export class EtagInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const reply = http.getResponse<FastifyReply>();
    return next.handle().pipe(
      map((body: unknown) => {
        const { user_id, name, version } = (body ?? {}) as { user_id?: string; name?: string; version?: number };
        if (version === undefined) return body;
        setEtag(reply, version);
        if (reply.statusCode === 201) {
          const [path = ''] = http.getRequest<FastifyRequest>().url.split('?');
          reply.header('location', `${path.slice(0, path.lastIndexOf('/'))}/${user_id ?? name}`);
        }
        return body;
      }),
    );
  }
}

/**
 * Sets the `ETag` of a response with one user or role.
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
