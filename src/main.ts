import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp, docsUrl } from './app.setup';
import { FirstAdministrator } from './recovery/first-administrator.service';
import { createLogger, NestLog } from './common/log';
import { Drain, drainMs } from './common/http/drain';
import { logLine } from './common/log-line';
import { writeNow } from './common/log-stream';
import { lowerPoolPriority } from './common/pool-priority';
import { name, version } from './common/project';
import { type Config, ConfigError, loadConfig, serviceUrl, withDatabase } from './config/config';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres/embedded-postgres';
import { prepareDatabase } from './database/prepare';
import { storeAddress } from './config/running-address';
import { startMetricsServer } from './metrics/metrics-server';
import { MetricsService } from './metrics/metrics.service';
import { explainStartFault, withoutInput } from './start-fault';

/**
 * Maximum time to stop after `SHUTDOWN_DELAY_SECONDS`: first the requests, then the database. The
 * embedded PostgreSQL can take seconds to stop.
 */
const stopWithinMs = drainMs + 5_000;
/**
 * Maximum number of connections that wait to be accepted. A client that finds the queue full
 * retries after a second. 4,096 is the default limit of Linux.
 */
const backlog = 4_096;
/**
 * Growth of the heap, in percent, after which V8 runs a full collection.
 * The default is above 100.
 */
const heapGrowingPercent = 50;
/** Command that prints a new link. The image contains neither npm scripts nor a compiler. */
const recoverCommand = require.main === module ? 'node dist/src/cli/cli.js admin-recover' : 'npm run admin:recover';
let app: NestFastifyApplication | null = null;
let postgres: EmbeddedPostgres | null = null;
let stopping: Promise<void> | null = null;
let shutdownDelayMs = 0;

async function start(): Promise<void> {
  lowerPoolPriority();
  setFlagsFromString(`--heap-growing-percent=${heapGrowingPercent}`);
  let config = loadConfig();
  for (const warning of config.warnings) createLogger(config.LOG_LEVEL).warn(warning);
  if (config.embedded) {
    postgres = await startEmbeddedPostgres(config.DATA_DIR);
    config = withDatabase(config, postgres.url);
  }
  if (stopping === null) await prepareDatabase(config, new NestLog(createLogger(config.LOG_LEVEL)));
  if (stopping === null) await serve(config);
}

/**
 * Starts the service.
 * With `ADMIN_PASSWORD`, creates the first administrator before the service listens. Without it,
 * creates the one-time link afterwards: the link would be lost if the port is taken.
 */
async function serve(config: Config): Promise<void> {
  shutdownDelayMs = config.SHUTDOWN_DELAY_SECONDS * 1_000;
  app = await createApp(config);
  const administrators = app.get(FirstAdministrator);
  if (config.ADMIN_PASSWORD !== undefined) await administrators.ensure();
  await serveMetrics(config, app.get(MetricsService));
  await app.listen({ port: config.PORT, host: config.HOST, backlog });
  if (config.embedded) storeAddress(config);
  announce(config, await administrators.ensure());
}

/** Serves the metrics on `METRICS_PORT`, if set, until the process exits. */
async function serveMetrics({ METRICS_PORT: port, HOST: host }: Config, metrics: MetricsService): Promise<void> {
  if (port === undefined) return;
  await startMetricsServer({ port, host }, () => metrics.render()).catch((error: Error) => {
    throw new ConfigError([`METRICS_PORT: ${error.message}`]);
  });
}

/**
 * Prints the addresses of the service to the terminal, or otherwise as JSON log lines.
 * The one-time link is printed as plain text and never logged.
 */
function announce(config: Config, link: string | null): void {
  const { port } = app?.getHttpServer().address() as AddressInfo;
  const lines = [
    `${name} ${version} listens on ${config.HOST}:${port}`,
    `  API       ${serviceUrl(config)}`,
    `  explorer  ${docsUrl(config)}`,
  ];
  const invitation = [
    '',
    'The first administrator is "administrator". Set the password with this link. It works once, within an hour:',
    `  ${link}`,
    `(for a new link: ${recoverCommand})`,
  ];
  const shown = lines.map((line) => shownLine(line)).join('');
  writeNow(link === null ? shown : `${shown}${invitation.join('\n')}\n`);
}

/** Returns a line for the terminal, or otherwise for the log. */
function shownLine(text: string, fields?: Record<string, unknown>): string {
  return process.stdout.isTTY ? `${text}\n` : logLine('info', text.trim(), fields);
}

/**
 * Stops the service once running requests have finished, and exits at the latest 15 s after
 * `SHUTDOWN_DELAY_SECONDS`.
 * Waits for a start that is still running, so that everything that it started can be stopped.
 * @param reason signal, or undefined if the service could not start
 */
function stop(code: number, reason?: NodeJS.Signals): Promise<void> {
  stopping ??= (async () => {
    if (reason !== undefined) writeNow(shownLine(`${name} stops: ${reason}`, { reason }));
    const deadline = setTimeout(() => {
      writeNow(logLine('error', `${name} exits: it could not stop in time`, { reason }));
      process.exit(1);
    }, shutdownDelayMs + stopWithinMs);
    await started.catch(() => undefined);
    if (app !== null) await leave(app);
    await app?.close();
    await postgres?.stop();
    clearTimeout(deadline);
    process.exit(code);
  })().catch((error: unknown) => {
    console.error(withoutInput(error));
    process.exit(1);
  });
  return stopping;
}

/**
 * Makes the service not ready, waits for `SHUTDOWN_DELAY_SECONDS`, so that load balancers remove
 * the instance, and closes the listener.
 */
async function leave(running: NestFastifyApplication): Promise<void> {
  const drain = running.get(Drain);
  if (shutdownDelayMs > 0 && running.getHttpServer().listening) {
    drain.begin();
    await delay(shutdownDelayMs);
  }
  await drain.closeListener();
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stop(0, signal));
process.on('unhandledRejection', (error) => logFault('error', 'unhandled rejection', error));
// Node then prints the error to stderr and ends the process.
process.on('uncaughtExceptionMonitor', (error) =>
  logFault('fatal', `${name} exits: uncaught exception`, withoutInput(error)),
);

function logFault(level: 'error' | 'fatal', msg: string, error: unknown): void {
  writeNow(logLine(level, msg, { error: String(error), stack: (error as Error).stack }));
}

const started = start();
started.catch((error: unknown) => {
  console.error(explainStartFault(error) ?? withoutInput(error));
  return stop(1);
});
