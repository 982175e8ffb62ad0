import { randomUUID } from 'node:crypto';
import { IdentityError, type Visitor } from '@carrier-identity/client';
import { parseCookie, stringifySetCookie } from 'cookie';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

const escape = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** A request with a form. */
export type Form<Name extends string> = FastifyRequest<{ Body: Record<Name, string>; Params: { token: string } }>;

/** Returns the user of a request as the service should see them. */
export const visitorOf = ({ ip, headers }: FastifyRequest): Visitor => ({
  address: ip,
  userAgent: headers['user-agent'],
});

/** Returns a page with a text and buttons. */
export function page(text: string, ...buttons: [path: string, label: string][]): string {
  const forms = buttons.map(([path, label]) => `<form method="post" action="${path}"><button>${label}</button></form>`);
  return `<!doctype html><meta charset="utf-8"><title>Portal</title><p>${escape(text)}</p>${forms.join('')}`;
}

/** Returns a page with a form. */
export function form(action: string, ...fields: string[]): string {
  const inputs = fields.map((name) => {
    const type = name.includes('password') ? 'password' : 'text';
    return `<label>${name} <input name="${name}" type="${type}" required></label>`;
  });
  const body = `<form method="post" action="${escape(action)}">${inputs.join('')}<button>Continue</button></form>`;
  return `<!doctype html><meta charset="utf-8"><title>Portal</title>${body}`;
}

/** Creates an application that parses forms, sends pages as HTML and explains errors. */
export function createSite(): FastifyInstance {
  const { TRUST_PROXY } = process.env;
  const app = fastify({ ...(TRUST_PROXY !== undefined && { trustProxy: TRUST_PROXY }) });
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(body as string))),
  );
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' }).type('text/html; charset=utf-8');
  });
  app.setErrorHandler((error, request, reply) => {
    if (!(error instanceof IdentityError)) return reply.code(500).send(page('Something went wrong.'));
    const reasons = error.errors.map(({ detail }) => detail).join(' ');
    const text = `${error.problem.title ?? 'The service cannot be reached.'} ${reasons}`;
    return reply.code(error.unavailable ? 503 : error.status).send(page(text));
  });
  return app;
}

const cookie = { path: '/', httpOnly: true, secure: true, sameSite: 'lax' } as const;

/** What the portal keeps per browser. A portal with several instances uses its database. */
export class Visits<Visit> {
  private readonly visits = new Map<string, Visit>();

  /** Returns what is kept for the browser of a request. */
  of(request: FastifyRequest): Visit | undefined {
    return this.visits.get(this.idOf(request));
  }

  /** Keeps a visit under a new id, so that an id from before the login is worth nothing. */
  start(reply: FastifyReply, visit: Visit): void {
    this.visits.delete(this.idOf(reply.request));
    const id = randomUUID();
    this.visits.set(id, visit);
    reply.header('set-cookie', stringifySetCookie('__Host-portal', id, cookie));
  }

  /** Replaces or removes the visit of a request. */
  keep(request: FastifyRequest, visit?: Visit): void {
    if (visit === undefined) this.visits.delete(this.idOf(request));
    else if (this.visits.has(this.idOf(request))) this.visits.set(this.idOf(request), visit);
  }

  private idOf({ headers }: FastifyRequest): string {
    return parseCookie(headers.cookie ?? '')['__Host-portal'] ?? '';
  }
}
