import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp, docsUrl } from './app.setup';
import { FirstAdministrator } from './recovery/first-administrator.service';
import { currentTimeText } from './common/clock';
import { createLogger, NestLog } from './common/log';
import { writeNow } from './common/log-stream';
import { lowerPoolPriority } from './common/pool-priority';
import { type Config, loadConfig, serviceUrl, withDatabase } from './config/config';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres/embedded-postgres';
import { prepareDatabase } from './database/prepare';
import { storeAddress } from './config/running-address';
import { explainStartFault } from './start-fault';

const stopWithinMs = 9_500;
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
  app = await createApp(config);
  const administrators = app.get(FirstAdministrator);
  if (config.ADMIN_PASSWORD !== undefined) await administrators.ensure();
  await app.listen({ port: config.PORT, host: config.HOST, backlog });
  if (config.embedded) storeAddress(config);
  announce(config, await administrators.ensure());
}

/**
 * Prints the addresses of the service to the terminal, or otherwise as JSON log lines.
 * The one-time link is printed as plain text and never logged.
 */
function announce(config: Config, link: string | null): void {
  const { port } = app?.getHttpServer().address() as AddressInfo;
  const lines = [
    `carrier-identity listens on ${config.HOST}:${port}`,
    `  API       ${serviceUrl(config)}`,
    `  explorer  ${docsUrl(config)}`,
  ];
  const asLog = (line: string) => JSON.stringify({ level: 30, time: currentTimeText(), msg: line.trim() });
  const invitation = [
    '',
    'The first administrator is "administrator". Set the password with this link. It works once, within an hour:',
    `  ${link}`,
    `(for a new link: ${recoverCommand})`,
  ];
  const shown = process.stdout.isTTY ? lines : lines.map(asLog);
  writeNow(`${[...shown, ...(link === null ? [] : invitation)].join('\n')}\n`);
}

/**
 * Stops the service once running requests have finished, and exits after at most 9.5 seconds.
 * Waits for a start that is still running, so that everything that it started can be stopped.
 */
function stop(code: number): Promise<void> {
  stopping ??= (async () => {
    const deadline = setTimeout(() => process.exit(1), stopWithinMs);
    await started.catch(() => undefined);
    await app?.close();
    await postgres?.stop();
    clearTimeout(deadline);
    process.exit(code);
  })().catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
  return stopping;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stop(0));
process.on('unhandledRejection', (reason) => {
  const line = { level: 50, msg: 'unhandled rejection', error: String(reason), stack: (reason as Error).stack };
  writeNow(`${JSON.stringify(line)}\n`);
});

const started = start();
started.catch((error: unknown) => {
  console.error(explainStartFault(error) ?? error);
  return stop(1);
});
