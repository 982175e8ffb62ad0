import type { FastifyInstance } from 'fastify';

const escape = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

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

/** Parses forms, and sends pages as HTML that other sites learn nothing from. */
export function prepare(app: FastifyInstance): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(body as string))),
  );
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' }).type('text/html; charset=utf-8');
  });
}
