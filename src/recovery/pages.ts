import { type CallHandler, type ExecutionContext, type NestInterceptor, UseInterceptors } from '@nestjs/common';
import { create } from 'handlebars';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { catchError, map, type Observable, of } from 'rxjs';
import { errorKind } from '../common/errors/error-codes';
import { toAppError } from '../common/http/problem';

/** The pages behind mailed links. */
export type PageName = 'reset-form' | 'reset-done' | 'email-form' | 'email-done';

const policy =
  "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
const titles: Record<PageName, string> = {
  'reset-form': 'Set your password',
  'reset-done': 'Your password is set',
  'email-form': 'Confirm your e-mail address',
  'email-done': 'Your e-mail address is confirmed',
};
const formOf: Partial<Record<PageName, PageName>> = { 'reset-done': 'reset-form', 'email-done': 'email-form' };

const render = create().compile(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>{{title}}</title>
<style>
body { font-family: system-ui, sans-serif; line-height: 1.5; color: #1b1f24; background: #f6f8fa; margin: 0; }
main { max-width: 26rem; margin: 10vh auto; padding: 2rem; background: #fff; border: 1px solid #d0d7de; border-radius: 8px; }
h1 { font-size: 1.25rem; margin-top: 0; }
label { display: block; font-weight: 600; }
input { box-sizing: border-box; width: 100%; font: inherit; padding: 0.5rem; margin: 0.25rem 0 1rem; border: 1px solid #8c959f; border-radius: 4px; }
button { font: inherit; font-weight: 600; padding: 0.5rem 1.25rem; color: #fff; background: #0b5cad; border: 0; border-radius: 4px; }
.error { color: #a40e26; }
</style></head>
<body><main>
<h1>{{title}}</h1>
{{#if error}}<p class="error" role="alert">{{error}}</p>{{/if}}
{{#if passwordForm}}
<form method="post">
<label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" required maxlength="256" autofocus aria-describedby="hint">
<p id="hint">Use a long phrase. Any characters are fine.</p>
<button type="submit">Set the password</button>
</form>
{{/if}}
{{#if confirmForm}}
<form method="post"><p>Press the button to use this address from now on.</p><button type="submit">Confirm the address</button></form>
{{/if}}
{{#if done}}<p>{{done}}</p>{{/if}}
</main></body></html>
`);

/**
 * Answers with a small script-free page where the client asks for HTML; refusals become pages too.
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
        return pageOf(this.name, null);
      }),
      catchError((thrown: unknown) => {
        const error = toAppError(thrown);
        const { status } = errorKind(error.code);
        if (status >= 500) throw thrown;
        void reply.status(status);
        const detail = error.extras.errors?.map((fault) => `The password ${fault.detail}.`).join(' ');
        return of(
          pageOf(
            status === 400 ? (formOf[this.name] ?? this.name) : this.name,
            detail ?? errorKind(error.code).meaning,
            status === 400,
          ),
        );
      }),
    );
  }
}

function pageOf(name: PageName, error: string | null, again = false): string {
  const form = error === null || again;
  return render({
    title: error === null || again ? titles[name] : 'This did not work',
    error,
    passwordForm: form && name === 'reset-form',
    confirmForm: form && name === 'email-form',
    done: error === null && name.endsWith('done') ? 'You can close this page and log in.' : null,
  });
}
