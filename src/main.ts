import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp, docsUrl } from './app.setup';
import { FirstAdministrator } from './recovery/first-administrator.service';
import { currentTimeText } from './common/clock';
import { writeNow } from './common/log-stream';
import { lowerPoolPriority } from './common/pool-priority';
import { type Config, loadConfig, serviceUrl, withDatabase } from './config/config';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres/embedded-postgres';
import { migrateDatabase } from './database/migrate';
import { explainStartFault } from './start-fault';

const stopWithinMs = 9_500;
/**
 * Connections that may wait to be accepted: one that finds no room tries again after a second,
 * whoever it is. Linux allows 4,096 unless told.
 */
const backlog = 4_096;
/**
 * What V8 lets grow before it collects all, beyond what was alive the last time; of itself it would
 * be more than 100.
 */
const heapGrowingPercent = 50;
let app: NestFastifyApplication | null = null;
let postgres: EmbeddedPostgres | null = null;
let stopping: Promise<void> | null = null;

async function start(): Promise<void> {
  lowerPoolPriority();
  setFlagsFromString(`--heap-growing-percent=${heapGrowingPercent}`);
  let config = loadConfig();
  if (config.embedded) {
    postgres = await startEmbeddedPostgres(config.DATA_DIR);
    config = withDatabase(config, postgres.url);
  }
  if (stopping === null) await migrateDatabase(config.DATABASE_DIRECT_URL);
  if (stopping === null) await serve(config);
}

/**
 * With a password the first administrator is there before anybody can ask; a link comes last, else
 * it would be lost with a start that finds its port taken.
 */
async function serve(config: Config): Promise<void> {
  app = await createApp(config);
  const administrators = app.get(FirstAdministrator);
  if (config.ADMIN_PASSWORD !== undefined) await administrators.ensure();
  await app.listen({ port: config.PORT, host: config.HOST, backlog });
  announce(config, await administrators.ensure());
}

/**
 * Text at a terminal, else lines of the log. The link is never one: it is shown once, to whoever
 * started the service.
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
    'The first administrator is called "administrator". Set the password with this link; it works once, for an hour:',
    `  ${link}`,
    '(a new one: npm run admin:recover)',
  ];
  const shown = process.stdout.isTTY ? lines : lines.map(asLog);
  writeNow(`${[...shown, ...(link === null ? [] : invitation)].join('\n')}\n`);
}

/**
 * Lets a start under way come to where it can be undone, finishes what is running, then stops
 * everything; after 9.5 seconds without any more patience.
 */
function stop(code: number): Promise<void> {
  stopping ??= (async () => {
    const impatient = setTimeout(() => process.exit(1), stopWithinMs);
    await started.catch(() => undefined);
    await app?.close();
    await postgres?.stop();
    clearTimeout(impatient);
    process.exit(code);
  })().catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
  return stopping;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stop(0));
process.on('unhandledRejection', (reason) =>
  writeNow(
    `${JSON.stringify({ level: 50, msg: 'unhandled rejection', error: String(reason), stack: (reason as Error).stack })}\n`,
  ),
);

const started = start();
started.catch((error: unknown) => {
  console.error(explainStartFault(error) ?? error);
  return stop(1);
});
