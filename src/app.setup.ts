import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { AppModule } from './app.module';
import { CheckTokenService } from './auth/check-token.service';
import { respondToKnownTokens } from './auth/known-tokens';
import { LoginsService } from './logins/logins.service';
import { turnAwayEarly } from './auth/turn-away';
import { AppError } from './common/errors/app-error';
import { addHeadRules } from './common/http/head-rules';
import { addMethodNotAllowed } from './common/http/method-not-allowed';
import { registerBodyParsers } from './common/http/body-parsers';
import { destroyLater, limitReceiving, type ReceivingLimits } from './common/http/receiving';
import { uploadMaxBytes } from './common/http/upload';
import { problemHeaders, toProblem } from './common/http/problem';
import { addDrain } from './common/http/drain';
import { createAccessLog, createLogger, NestLog } from './common/log';
import { newRequestId } from './common/random';
import { type Config, serviceUrl } from './config/config';
import { Notifications } from './database/notifications.service';
import { awaitOwnChanges } from './database/own-changes';
import { docsPolicy, setupDocs } from './docs/docs.setup';

/** Answers to everything; pages set their own policy. (OWASP ASVS 3.4, HTTP Headers Cheat Sheet) */
const securityHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
/** What scripts of an allowed origin may read besides the body. */
const exposedHeaders = [
  'Content-Disposition',
  'ETag',
  'Location',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'X-Request-Id',
];
const maxHeaderSize = 65_536;
/** Milliseconds until the headers of a request must be complete. */
const headersMs = 15_000;
const unusualPath = /%|\/\/|\/\.(?!well-known\/)|\\|;|#/;
const saneRequestId = /^[A-Za-z0-9._-]{1,64}$/;
/** No request comes here by itself: `isPlain` lets no such path through. */
const nowhere = '/.';
/**
 * Requests under way when the service stops have this long; what follows must fit into the ten
 * seconds that Docker gives.
 */
const drainMs = 6_000;

/** Limits of the time and the size of request bodies. */
export interface BodyLimits extends ReceivingLimits {
  /** largest file of an upload */
  uploadMaxBytes: number;
}

const bodyLimits: BodyLimits = {
  bodyMs: 15_000,
  uploadGraceMs: 60_000,
  // Slow connections reach this rate; a client that sends single bytes does not.
  uploadBytesPerSecond: 16_384,
  uploadMaxBytes,
};

/**
 * Builds the service without listening, for `main`, tests and scripts. Only tests pass `limits`.
 */
export async function createApp(config: Config, limits: Partial<BodyLimits> = {}): Promise<NestFastifyApplication> {
  const { uploadMaxBytes: maxBytes, ...receiving } = { ...bodyLimits, ...limits };
  const adapter = createAdapter(config);
  const fastify = adapter.getInstance<FastifyInstance>();
  addHooks(fastify, config);
  addHeadRules(fastify);
  limitReceiving(fastify, receiving, (error, socket) => answerClientError(config, error, socket));
  addDrain(fastify, drainMs);
  const allowed = addMethodNotAllowed(fastify);
  const logger = new NestLog(createLogger(config.LOG_LEVEL === 'info' ? 'warn' : config.LOG_LEVEL));
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.forRoot(config), adapter, {
    bodyParser: false,
    logger,
    abortOnError: false,
  });
  registerBodyParsers(fastify, maxBytes);
  awaitOwnChanges(fastify, app.get(Notifications));
  turnAwayEarly(fastify, app.get(LoginsService));
  respondToKnownTokens(fastify, app.get(CheckTokenService));
  if (config.CORS_ORIGINS.length > 0)
    app.enableCors({
      origin: config.CORS_ORIGINS,
      methods: ['GET', 'POST', 'PATCH', 'DELETE'],
      exposedHeaders,
      maxAge: 600,
    });
  app.setGlobalPrefix(config.BASE_PATH);
  setupDocs(app, config.BASE_PATH);
  await app.init();
  allowed.register();
  await fastify.ready();
  return app;
}

function createAdapter(config: Config): FastifyAdapter {
  return new FastifyAdapter({
    loggerInstance: createLogger(config.LOG_LEVEL),
    logController: new LogController({ disableRequestLogging: true }),
    // whoever writes a line of a request names it: a logger for each one costs more than most
    // requests have to say
    childLoggerFactory: (logger: FastifyBaseLogger) => logger,
    trustProxy: config.TRUST_PROXY.length > 0 ? config.TRUST_PROXY : false,
    genReqId: requestIdOf,
    requestIdHeader: false,
    // no path of ours needs escapes: whatever has them leads nowhere, so that no two readings of a
    // path can differ (CVE-2026-22031, -33804, -85184)
    rewriteUrl: ({ url = '/' }: { url?: string }) => (isPlain(url) ? url : nowhere),
    // no parameter is too long for the router, which would repeat it in an answer of its own: a
    // long id is an unknown one
    routerOptions: { maxParamLength: maxHeaderSize, ignoreTrailingSlash: false, caseSensitive: true },
    bodyLimit: 65_536,
    // the headers; how long a body may take is decided once it is known what it is for:
    // `limitReceiving`
    requestTimeout: 0,
    connectionTimeout: 30_000,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    // what still comes in over a connection that is being closed is answered: the database goes
    // last
    return503OnClosing: false,
    // late headers are noticed at an interval, which is half a minute unless told
    http: { maxHeaderSize, requireHostHeader: false, headersTimeout: headersMs, connectionsCheckingInterval: 1_000 },
    clientErrorHandler: (error, socket) => answerClientError(config, error, socket),
    exposeHeadRoutes: false,
  });
}

function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && saneRequestId.test(given) ? given : newRequestId();
}

function isPlain(url: string): boolean {
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  return path.startsWith('/') && !unusualPath.test(path);
}

function addHooks(fastify: FastifyInstance, config: Config): void {
  const headers = securityHeadersOf(config);
  const docs = `${config.BASE_PATH}/docs`;
  const accessLog = createAccessLog(config.LOG_LEVEL);
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.headers(headers).header('x-request-id', request.id);
    if (request.url.startsWith(docs)) void reply.header('content-security-policy', docsPolicy);
    done();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const { actor, errorCode: code } = request;
    accessLog({
      reqId: request.id,
      method: request.method,
      route: request.routeOptions.url,
      status: reply.statusCode,
      code,
      ms: Math.round(reply.elapsedTime),
      ip: request.ip,
      ...(actor?.actor_type === 'key' ? { key_id: actor.user_id } : { user_id: actor?.user_id }),
    });
    done();
  });
}

function securityHeadersOf({ PUBLIC_URL }: Config): Record<string, string> {
  if (!PUBLIC_URL.startsWith('https:')) return securityHeaders;
  return { ...securityHeaders, 'strict-transport-security': 'max-age=31536000; includeSubDomains' };
}

/**
 * What is no HTTP never reaches a route: answered here like any other refusal, and the connection
 * closed.
 */
function answerClientError(config: Config, error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new AppError('request.headers_too_large')
      : new AppError('request.invalid', { detail: 'The request is not complete, or not HTTP/1.1.' });
  const problem = toProblem(refusal, serviceUrl(config), '', newRequestId());
  const body = JSON.stringify(problem);
  const headers = {
    ...securityHeadersOf(config),
    'x-request-id': problem.request_id,
    ...problemHeaders(refusal),
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${problem.status} ${problem.title}\r\n${lines.join('')}\r\n${body}`);
  destroyLater(socket);
}

/** The address of the explorer. */
export function docsUrl(config: Config): string {
  return `${serviceUrl(config)}/docs`;
}
