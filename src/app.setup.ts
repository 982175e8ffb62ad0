import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { AppModule } from './app.module';
import { CheckTokenService } from './auth/tokens/check-token.service';
import { respondToKnownTokens } from './auth/tokens/known-tokens';
import { rejectWhenFull } from './auth/reject-when-full';
import { LoginsService } from './auth/login/logins.service';
import { AppError } from './http/errors/app-error';
import { addHeadRules } from './http/head-rules';
import { addMethodNotAllowed } from './http/method-not-allowed';
import { registerBodyParsers } from './http/bodies/body-parsers';
import { cutParameters, decodeQuery } from './http/bodies/query-string';
import { destroyLater, limitReceiving, type ReceivingLimits } from './http/bodies/receiving';
import { uploadMaxBytes } from './http/bodies/upload';
import { problemHeaders, toProblem } from './http/errors/problem';
import { countRequest } from './http/http.metrics';
import { Drain } from './http/drain';
import { addRequestSpans, endRequestSpan } from './http/request-spans';
import { traceIdOf } from './http/trace-id';
import { createAccessLog, createLogger, NestLog } from './platform/log/log';
import { newRequestId } from './platform/random';
import { type Config, serviceUrl } from './platform/config/config';
import { setupConsole } from './console/console.setup';
import { Notifications } from './platform/database/notifications.service';
import { awaitOwnChanges } from './platform/database/own-changes';
import { Replica } from './platform/database/replica';
import { docsPolicy, setupDocs } from './http/docs/docs.setup';
import { serveMetrics } from './platform/metrics/metrics-route';
import { MetricsService } from './platform/metrics/metrics.service';

/**
 * Headers of every response.
 * Pages replace the content security policy (OWASP ASVS 3.4, HTTP Headers Cheat Sheet).
 */
const securityHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
/** Response headers that scripts of an allowed origin may read. */
const exposedHeaders = [
  'Changes-Cursor',
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
/** Path without a route. `isPlain` is false for it, so no client can request it directly. */
const nowhere = '/.';

/** Limits on the time and the size of request bodies. */
export interface BodyLimits extends ReceivingLimits {
  /** maximum size of an uploaded file */
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
  limitReceiving(fastify, receiving, (error, socket) => respondToClientError(config, error, socket));
  const rejectOtherMethods = addMethodNotAllowed(fastify);
  const logger = new NestLog(createLogger(config.LOG_LEVEL === 'info' ? 'warn' : config.LOG_LEVEL));
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.forRoot(config), adapter, {
    bodyParser: false,
    logger,
    abortOnError: false,
  });
  app.get(Drain).attach(fastify);
  registerBodyParsers(fastify, maxBytes);
  awaitOwnChanges(fastify, app.get(Notifications), app.get(Replica));
  rejectWhenFull(fastify, app.get(LoginsService));
  respondToKnownTokens(fastify, app.get(CheckTokenService));
  if (config.CORS_ORIGINS.length > 0)
    app.enableCors({
      origin: config.CORS_ORIGINS,
      methods: ['GET', 'POST', 'PATCH', 'DELETE'],
      exposedHeaders,
      maxAge: 600,
    });
  // Browsers read the origins of passkeys from the root of the host only.
  app.setGlobalPrefix(config.BASE_PATH, { exclude: ['.well-known/webauthn'] });
  if (config.CONSOLE) await setupConsole(app, config);
  // Routes that exist before the plugin of the console is loaded would not get the problem filter.
  setupDocs(app, config.BASE_PATH);
  if (config.METRICS_TOKEN !== undefined)
    serveMetrics(fastify, `${config.BASE_PATH}/metrics`, config.METRICS_TOKEN, app.get(MetricsService));
  await app.init();
  rejectOtherMethods();
  await fastify.ready();
  return app;
}

/** Returns the two halves of `/0`, which Fastify rejects, and all other networks unchanged. */
function halves(network: string): string[] {
  if (!network.endsWith('/0')) return [network];
  return network.includes(':') ? ['::/1', '8000::/1'] : ['0.0.0.0/1', '128.0.0.0/1'];
}

function createAdapter(config: Config): FastifyAdapter {
  // The only path outside BASE_PATH that depends on it: RFC 8414 §3.1 puts the issuer's path last.
  const metadata = '/.well-known/oauth-authorization-server';
  const placed = (url: string) => (url === metadata + config.BASE_PATH ? config.BASE_PATH + metadata : url);
  return new FastifyAdapter({
    // The service has no Express middleware.
    skipMiddie: true,
    loggerInstance: createLogger(config.LOG_LEVEL),
    logController: new LogController({ disableRequestLogging: true }),
    // One logger for all requests. Log lines name the request id themselves, because a child logger
    // per request would cost more than most requests log.
    childLoggerFactory: (logger: FastifyBaseLogger) => logger,
    trustProxy: config.TRUST_PROXY.length > 0 ? config.TRUST_PROXY.flatMap(halves) : false,
    genReqId: requestIdOf,
    requestIdHeader: false,
    // No route needs escapes. Paths with escapes get 404, so that a proxy and the router cannot
    // read a path differently (CVE-2026-22031, -33804, -85184).
    rewriteUrl: ({ url = '/' }: IncomingMessage) => (isPlain(url) ? cutParameters(placed(url)) : nowhere),
    // The router must not reject long parameters, because its response would repeat them.
    // A long id is an unknown id.
    routerOptions: {
      maxParamLength: maxHeaderSize,
      ignoreTrailingSlash: false,
      caseSensitive: true,
      querystringParser: decodeQuery,
    },
    bodyLimit: 65_536,
    // `limitReceiving` sets the deadlines of bodies.
    requestTimeout: 0,
    // Longer than the longest `wait` of the change feed.
    connectionTimeout: 45_000,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    // Requests on closing connections still get a response: the database closes last.
    return503OnClosing: false,
    // Node checks for late headers at this interval; the default is 30 s.
    http: { maxHeaderSize, requireHostHeader: false, headersTimeout: headersMs, connectionsCheckingInterval: 1_000 },
    clientErrorHandler: (error, socket) => respondToClientError(config, error, socket),
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
  addRequestSpans(fastify, config.BASE_PATH);
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.headers(headers).header('x-request-id', request.id);
    if (request.url.startsWith(docs)) void reply.header('content-security-policy', docsPolicy);
    done();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const { actor, errorCode: code, method } = request;
    const { url: route } = request.routeOptions;
    const ms = reply.elapsedTime;
    if (request.span !== undefined) endRequestSpan(request, reply.statusCode, route);
    countRequest(method, route?.slice(config.BASE_PATH.length), reply.statusCode, ms);
    accessLog({
      reqId: request.id,
      trace_id: request.span?.spanContext().traceId ?? traceIdOf(request.headers),
      method,
      route,
      status: reply.statusCode,
      code,
      ms: Math.round(ms),
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
 * Responds to input that is not HTTP in the same format as to any invalid request, and closes the
 * connection.
 */
function respondToClientError(config: Config, error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const fault =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new AppError('request.headers_too_large')
      : new AppError('request.invalid', { detail: 'The request is incomplete or is not HTTP/1.1.' });
  const problem = toProblem(fault, serviceUrl(config), '', newRequestId());
  const body = JSON.stringify(problem);
  const headers = {
    ...securityHeadersOf(config),
    'x-request-id': problem.request_id,
    ...problemHeaders(fault, config.FRESH_AUTH_SECONDS),
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${problem.status} ${problem.title}\r\n${lines.join('')}\r\n${body}`);
  destroyLater(socket);
}
