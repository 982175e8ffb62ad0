import { join } from 'node:path';
import { type CallHandler, type ExecutionContext, type NestInterceptor, UseInterceptors } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { catchError, map, type Observable, of } from 'rxjs';
import { errorKind } from '../common/errors/error-codes';
import { compileTemplate } from '../common/http/html-template';
import { toAppError } from '../common/http/problem';

/** Names of the pages behind mailed links. */
export type PageName = 'reset-form' | 'reset-done' | 'email-form' | 'email-done';

interface PageValues {
  title: string;
  error: string | null;
  passwordForm: boolean;
  confirmForm: boolean;
  message: string | null;
}

const policy =
  "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
const titles: Record<PageName, string> = {
  'reset-form': 'Set your password',
  'reset-done': 'Your password is set',
  'email-form': 'Confirm your e-mail address',
  'email-done': 'Your e-mail address is confirmed',
};
const formOf: Partial<Record<PageName, PageName>> = { 'reset-done': 'reset-form', 'email-done': 'email-form' };
const render = compileTemplate<PageValues>(join(__dirname, 'templates', 'link-page.hbs'));

/**
 * Responds with a small script-free page if the client accepts HTML.
 * Error responses below 500 become pages, too.
 */
export function Page(name: PageName): MethodDecorator {
  return UseInterceptors(new PageInterceptor(name));
}

class PageInterceptor implements NestInterceptor {
  constructor(private readonly name: PageName) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    if (!(request.headers.accept ?? '').includes('text/html')) return next.handle();
    void reply.headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      vary: 'Accept',
    });
    return next.handle().pipe(
      map(() => {
        void reply.status(200);
        return render(pageOf(this.name));
      }),
      catchError((thrown: unknown) => {
        const error = toAppError(thrown);
        const { status, meaning } = errorKind(error.code);
        if (status >= 500) throw thrown;
        void reply.status(status);
        const faults = error.extras.errors?.map(({ detail }) => `The password ${detail}.`).join(' ');
        const text = faults ?? meaning;
        // A rejected value does not use up the link, so the form is shown again.
        return of(render(status === 400 ? formAgain(this.name, text) : failurePage(status, text)));
      }),
    );
  }
}

function pageOf(name: PageName): PageValues {
  return {
    title: titles[name],
    error: null,
    passwordForm: name === 'reset-form',
    confirmForm: name === 'email-form',
    message: name.endsWith('done') ? 'You can close this page and log in.' : null,
  };
}

function formAgain(name: PageName, error: string): PageValues {
  return { ...pageOf(formOf[name] ?? name), error };
}

function failurePage(status: number, error: string): PageValues {
  const title = status === 404 ? 'This link is no longer valid' : 'The request failed';
  return { title, error, passwordForm: false, confirmForm: false, message: null };
}
