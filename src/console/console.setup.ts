import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { escapeExpression } from 'handlebars';
import { AppError } from '../http/errors/app-error';
import type { Config } from '../platform/config/config';
import { projectPath } from '../platform/project';
import { mintToken } from '../platform/random';

/** Placeholders in `web/index.html`, which the service replaces. */
const headMark = '<!--head-->';
const nonceMark = '{{nonce}}';
// Stops at the next dot, because many dots would otherwise take quadratic time.
const fileExtension = /\.[^/.]*$/;

/**
 * Returns the content security policy of a page of the console.
 * Scripts come from the service only. A default policy of the page rejects HTML that a script
 * assigns (Trusted Types), and inline styles apply only with the nonce of the response.
 * @see https://cheatsheetseries.owasp.org/cheatsheets/Content_Security_Policy_Cheat_Sheet.html
 */
function consolePolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types default',
  ].join('; ');
}

/**
 * Serves the console below `/console/`: its assets, and the same page for all other paths. Paths of
 * other files return 404.
 * Logs a warning and serves nothing if the console is not built.
 */
export async function setupConsole(app: NestFastifyApplication, config: Config): Promise<void> {
  const fastify = app.getHttpAdapter().getInstance();
  const folder = projectPath('dist/console');
  if (!existsSync(join(folder, 'index.html'))) {
    fastify.log.warn('The console is not built: run `npm run build`');
    return;
  }
  const root = `${config.BASE_PATH}/console`;
  await app.register(fastifyStatic, {
    root: join(folder, 'assets'),
    prefix: `${root}/assets/`,
    decorateReply: false,
    index: false,
    // Responds to the path of the folder with 404, as to an unknown file.
    allowedPath: (path) => path !== '/',
    // The names of assets contain a hash of the content.
    immutable: true,
    maxAge: '1y',
    preCompressed: true,
  });
  const [start = '', afterNonce = ''] = readFileSync(join(folder, 'index.html'), 'utf8').split(nonceMark);
  const beforeNonce = start.replace(headMark, () => headOf(root, config));
  const page = (request: FastifyRequest, reply: FastifyReply): string => {
    const path = request.url.replace(/\?.*/s, '');
    // Names of roles may contain dots.
    const isRole = path.slice(0, path.lastIndexOf('/')) === `${root}/roles`;
    if (fileExtension.test(path) && !isRole) throw new AppError('request.not_found');
    const nonce = mintToken();
    void reply.headers({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy': consolePolicy(nonce),
      // Otherwise, a page that opened the console could replace it with a copy of the login page.
      'cross-origin-opener-policy': 'same-origin',
    });
    return `${beforeNonce}${nonce}${afterNonce}`;
  };
  for (const path of [root, `${root}/`, `${root}/*`]) fastify.get(path, { exposeHeadRoute: true }, page);
}

/** Returns the part of the page that depends on the installation. The console reads it at once. */
function headOf(root: string, { PRODUCT_NAME, ENVIRONMENT_NAME, ENVIRONMENT_COLOR }: Config): string {
  const product = escapeExpression(PRODUCT_NAME);
  const environment = escapeExpression(ENVIRONMENT_NAME ?? '');
  return [
    `<base href="${root}/" />`,
    `<title>${product}</title>`,
    `<meta name="product" content="${product}" />`,
    `<meta name="environment" content="${environment}" data-color="${ENVIRONMENT_COLOR}" />`,
  ].join('\n    ');
}
