import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
  UseInterceptors,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { catchError, map, type Observable, of } from 'rxjs';
import { errorKind } from '../../http/errors/error-codes';
import { toAppError } from '../../http/errors/problem';
import { LinkPagesService } from './link-pages.service';
import type { PageName } from './texts/en';

const pageName = 'recovery:page';
/** Allows only the script of the service; the page works without it. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; form-action 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'";

/**
 * Responds with a small page if the client accepts HTML.
 * Error responses below 500 become pages, too.
 */
export function Page(name: PageName): MethodDecorator {
  return applyDecorators(SetMetadata(pageName, name), UseInterceptors(PageInterceptor));
}

/** Turns the responses of a route with `@Page` into pages. */
@Injectable()
export class PageInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly pages: LinkPagesService,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<FastifyRequest<{ Params: { token: string } }>>();
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    if (!(request.headers.accept ?? '').includes('text/html')) return next.handle();
    const name = this.reflector.get<PageName>(pageName, context.getHandler());
    const page = await this.pages.open(name, request.params.token, request.headers['accept-language']);
    void reply.headers({
      'content-type': 'text/html; charset=utf-8',
      'content-language': page.language,
      'content-security-policy': policy,
      vary: 'Accept, Accept-Language',
    });
    return next.handle().pipe(
      map(() => {
        void reply.status(200);
        return this.pages.page(page);
      }),
      catchError((thrown: unknown) => {
        const error = toAppError(thrown);
        const { status } = errorKind(error.code);
        if (status >= 500) throw thrown;
        void reply.status(status);
        return of(this.pages.failure(page, error));
      }),
    );
  }
}
