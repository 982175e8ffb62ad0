import { once } from 'node:events';
import { createServer } from 'node:net';
import { createLogger, NestLog } from './platform/log/log';
import { drainMs } from './http/drain';
import { logLine } from './platform/log/log-line';
import { writeNow } from './platform/log/log-stream';
import { name, version } from './platform/project';
import { type Config, consoleUrl, docsUrl, loadConfig, serviceUrl, withDatabase } from './platform/config/config';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './platform/embedded-postgres/embedded-postgres';
import { findCluster } from './platform/embedded-postgres/postgres-cluster';
import { prepareDatabase } from './platform/database/migrate';
import { storeAddress } from './platform/config/running-address';
import { setUpProcess } from './process/process-setup';
import type { Served, Serving } from './process/serving';
import { explainStartFault, withoutInput } from './process/start-fault';

/**
 * Maximum time to stop after `SHUTDOWN_DELAY_SECONDS`: first the requests, then the database. The
 * embedded PostgreSQL can take seconds to stop.
 */
const stopWithinMs = drainMs + 5_000;
/** Command that prints a new link. The image contains neither npm scripts nor a compiler. */
const recoverCommand = require.main === module ? 'node dist/src/cli/cli.js admin-recover' : 'npm run admin:recover';
let serving: Serving | null = null;
let postgres: EmbeddedPostgres | null = null;
let stopping: Promise<void> | null = null;
let shutdownDelayMs = 0;

async function start(): Promise<void> {
  setUpProcess();
  let config = loadConfig();
  shutdownDelayMs = config.SHUTDOWN_DELAY_SECONDS * 1_000;
  const logger = createLogger(config.LOG_LEVEL);
  for (const warning of config.warnings) logger.warn(warning);
  const isFirst = config.embedded && (await findCluster(config.DATA_DIR)) === null;
  // Beside an existing database, a process that is stopping may still have the port.
  if (isFirst || !config.embedded) await assertCanListen(config);
  if (config.embedded) {
    logger.info(`${isFirst ? 'creates' : 'starts'} the database in ${config.DATA_DIR}`);
    postgres = await startEmbeddedPostgres(config.DATA_DIR);
    config = withDatabase(config, postgres.url);
  }
  logger.info('prepares the database');
  if (stopping === null) await prepareDatabase(config, new NestLog(logger));
  logger.info('starts the service');
  if (stopping === null) await serve(config);
}

async function serve(config: Config): Promise<void> {
  serving = await servingOf(config);
  const served = await serving.start();
  if (config.embedded) storeAddress(config);
  announce(config, served);
}

/** Checks that the port is free before the database is changed. @throws the error of `listen` */
async function assertCanListen({ PORT: port, HOST: host }: Config): Promise<void> {
  const server = createServer().listen({ port, host });
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

/** Loads only the module that is needed: the primary process of workers does not run Nest. */
async function servingOf(config: Config): Promise<Serving> {
  if (config.WORKERS === 1) return new (await import('./process/service.js')).Service(config);
  return new (await import('./process/workers.js')).Workers(config);
}

/**
 * Prints the addresses of the service to the terminal, or otherwise as JSON log lines.
 * The one-time link is printed as plain text and never logged.
 */
function announce(config: Config, { port, link, hasUnusedLink }: Served): void {
  const lines = [
    `${name} ${version} listens on ${config.HOST}:${port}`,
    `  API       ${serviceUrl(config)}`,
    `  explorer  ${docsUrl(config)}`,
    ...(config.CONSOLE ? [`  console   ${consoleUrl(config)}`] : []),
  ];
  const invitation = [
    '',
    `The first administrator is "administrator". For a new link: ${recoverCommand}`,
    'Set the password with this link. It works once, within an hour:',
    `  ${link}`,
  ];
  if (hasUnusedLink) lines.push(`The first administrator has no password yet. For a new link: ${recoverCommand}`);
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
    await serving?.stop();
    await postgres?.stop();
    clearTimeout(deadline);
    process.exit(code);
  })().catch((error: unknown) => {
    console.error(withoutInput(error));
    process.exit(1);
  });
  return stopping;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stop(0, signal));
const started = start();
started.catch((error: unknown) => {
  console.error(explainStartFault(error) ?? withoutInput(error));
  return stop(1);
});
