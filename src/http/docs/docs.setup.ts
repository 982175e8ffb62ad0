import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { dump } from 'js-yaml';
import { AppError } from '../errors/app-error';
import { errorCodes, type ErrorKind } from '../errors/error-codes';
import { compileTemplate } from '../html-template';
import { readProjectFile } from '../../platform/project';
import { AddressLimitsService } from '../../access/rate-limits/address-limits.service';

const compress = promisify(gzip);
const acceptsGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/;

/**
 * Content security policy of the explorer.
 * It allows only scripts and styles of the service itself.
 */
export const docsPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'";

/** A file that the service serves, compressed if the client accepts it. */
interface ServedFile {
  type: string;
  content: () => string | Buffer;
}

type OnRequest = (request: FastifyRequest) => Promise<void>;

/**
 * Serves the OpenAPI explorer at `/docs`, the document as `/docs/openapi.json` and `.yaml`, and the
 * pages below `/docs/errors` that the `type` of a problem links to.
 */
export function setupDocs(app: NestFastifyApplication, basePath: string): void {
  // The committed document. The build generates it, and CI checks it for drift.
  const document = JSON.parse(readProjectFile('openapi.json')) as OpenAPIObject;
  document.servers = [{ url: basePath === '' ? '/' : basePath, description: 'This service' }];
  const page = compileTemplate<{ base: string }>(join(__dirname, 'templates', 'explorer.hbs'))({ base: basePath });
  const html = { type: 'text/html; charset=utf-8', content: () => page };
  const files: Record<string, ServedFile> = {
    '': html,
    '/': html,
    '/openapi.json': { type: 'application/json; charset=utf-8', content: () => JSON.stringify(document) },
    '/openapi.yaml': { type: 'text/yaml; charset=utf-8', content: () => dump(document, { noRefs: true }) },
    '/explorer.js': asset('text/javascript; charset=utf-8', join(__dirname, 'templates', 'explorer.js')),
    '/explorer.css': asset('text/css; charset=utf-8', join(__dirname, 'templates', 'explorer.css')),
    '/swagger-ui-bundle.js': asset('text/javascript; charset=utf-8', swaggerUi('swagger-ui-bundle.js')),
    '/swagger-ui.css': asset('text/css; charset=utf-8', swaggerUi('swagger-ui.css')),
    '/favicon.png': asset('image/png', swaggerUi('favicon-32x32.png')),
  };
  const fastify = app.getHttpAdapter().getInstance();
  const limits = app.get(AddressLimitsService);
  const onRequest: OnRequest = (request) => limits.countRequest(request);
  for (const [name, file] of Object.entries(files)) serve(fastify, `${basePath}/docs${name}`, file, onRequest);
  const showErrors = errorPages();
  fastify.get<{ Params: { code?: string } }>(`${basePath}/docs/errors`, { onRequest }, showErrors);
  fastify.get<{ Params: { code?: string } }>(`${basePath}/docs/errors/:code`, { onRequest }, showErrors);
}

/** Returns the handler of the pages about error codes. @throws request.not_found */
function errorPages(): (request: FastifyRequest<{ Params: { code?: string } }>, reply: FastifyReply) => string {
  const render = compileTemplate<{ kinds: (ErrorKind & { code: string })[] }>(
    join(__dirname, 'templates', 'error-codes.hbs'),
  );
  return ({ params }, reply) => {
    const kinds = Object.entries<ErrorKind>(errorCodes)
      .filter(([code]) => params.code === undefined || code === params.code)
      .map(([code, kind]) => ({ code, ...kind }));
    if (kinds.length === 0) throw new AppError('request.not_found');
    void reply.type('text/html; charset=utf-8');
    return render({ kinds });
  };
}

function swaggerUi(name: string): string {
  return createRequire(__filename).resolve(`swagger-ui-dist/${name}`);
}

function asset(type: string, file: string): ServedFile {
  return { type, content: () => readFileSync(file) };
}

/** Serves a file. Reads and compresses it on the first request, and keeps both forms. */
function serve(fastify: FastifyInstance, path: string, { type, content }: ServedFile, onRequest: OnRequest): void {
  const plain = computedOnce(content);
  const compressed = computedOnce(() => compress(plain(), { level: 9 }));
  fastify.get(path, { onRequest, exposeHeadRoute: true }, async ({ headers }, reply) => {
    void reply.headers({ 'content-type': type, 'cache-control': 'public, max-age=300', vary: 'Accept-Encoding' });
    if (!acceptsGzip.test(headers['accept-encoding'] ?? '')) return plain();
    return reply.header('content-encoding', 'gzip').send(await compressed());
  });
}

/** Returns a function that computes a value on its first call, and then returns this value. */
function computedOnce<T>(compute: () => T): () => T {
  let result: { value: T } | null = null;
  return () => (result ??= { value: compute() }).value;
}
