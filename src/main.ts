import { setTimeout as delay } from 'node:timers/promises';
import { createLogger, NestLog } from './common/log';
import { drainMs } from './common/http/drain';
import { logLine } from './common/log-line';
import { writeNow } from './common/log-stream';
import { name, version } from './common/project';
import { type Config, consoleUrl, docsUrl, loadConfig, serviceUrl, withDatabase } from './config/config';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres/embedded-postgres';
import { findCluster } from './embedded-postgres/postgres-cluster';
import { prepareDatabase } from './database/migrate';
import { storeAddress } from './config/running-address';
import { setUpProcess } from './process-setup';
import type { Served, Serving } from './serving';
import { assertCanListen, checkAdministrator } from './start-checks';
import { explainStartFault, withoutInput } from './start-fault';

/**
 * Maximum time to stop after `SHUTDOWN_DELAY_SECONDS`: first the requests, then the database. The
 * embedded PostgreSQL can take seconds to stop.
 */
const stopWithinMs = drainMs + 5_000;
/** Command that prints a new link. The image contains neither npm scripts nor a compiler. */
const recoverCommand = require.main === module ? 'node dist/src/cli/cli.js admin-recover' : 'npm run admin:recover';
let serving: Serving | null = null;
let isListening = false;
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
  if (isFirst) await checkAdministrator(config);
  if (config.embedded) {
    logger.info(`${isFirst ? 'creates' : 'starts'} the database in ${config.DATA_DIR}`);
    const onWait = () => logger.warn('waits up to 30 s for the process that uses DATA_DIR to stop');
    postgres = await startEmbeddedPostgres(config.DATA_DIR, { onWait });
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
  isListening = true;
  if (config.embedded) storeAddress(config);
  announce(config, served);
}

/** Loads only the module that is needed: the primary process of workers does not run Nest. */
async function servingOf(config: Config): Promise<Serving> {
  if (config.WORKERS === 1) return new (await import('./service.js')).Service(config);
  return new (await import('./cluster/workers.js')).Workers(config);
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
    void postgres?.leave();
    if (reason !== undefined) writeNow(shownLine(`${name} stops: ${reason}`, { reason }));
    const deadline = setTimeout(() => {
      writeNow(logLine('error', `${name} exits: it could not stop in time`, { reason }));
      process.exit(1);
    }, shutdownDelayMs + stopWithinMs);
    await started.catch(() => undefined);
    if (isListening) await leave();
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

/**
 * Makes the service not ready, and waits for `SHUTDOWN_DELAY_SECONDS`, so that load balancers
 * remove the instance.
 */
async function leave(): Promise<void> {
  if (shutdownDelayMs === 0) return;
  serving?.leave();
  await delay(shutdownDelayMs);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stop(0, signal));
const started = start();
started.catch((error: unknown) => {
  console.error(explainStartFault(error) ?? withoutInput(error));
  return stop(1);
});
