import 'reflect-metadata';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createApp, docsUrl } from './app.setup';
import { FirstAdministrator } from './auth/first-administrator.service';
import { type Config, ConfigError, loadConfig, serviceUrl, withDatabase } from './config/config';
import { type EmbeddedPostgres, EmbeddedPostgresError, startEmbeddedPostgres } from './database/embedded-postgres';
import { migrateDatabase } from './database/migrate';

const stopWithinMs = 9_000;
let app: NestFastifyApplication | null = null;
let postgres: EmbeddedPostgres | null = null;
let stopping: Promise<void> | null = null;

async function start(): Promise<void> {
  let config = loadConfig();
  if (config.embedded) {
    postgres = await startEmbeddedPostgres(config.DATA_DIR);
    config = withDatabase(config, postgres.url);
  }
  await migrateDatabase(config.DATABASE_DIRECT_URL);
  app = await createApp(config);
  const link = await app.get(FirstAdministrator).ensure();
  await app.listen(config.PORT, config.HOST);
  announce(config, link);
}

/** For people; the log goes on as JSON lines. The link is shown once and to whoever started the service only. */
function announce(config: Config, link: string | null): void {
  const lines = [
    `carrier-identity listens on ${config.HOST}:${config.PORT}`,
    `  API       ${serviceUrl(config)}`,
    `  explorer  ${docsUrl(config)}`,
  ];
  if (link !== null)
    lines.push(
      '',
      'The first administrator is called "administrator". Set the password with this link; it works once, for an hour:',
      `  ${link}`,
      '(a new one: npm run admin:recover)',
    );
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Finishes what is running, then stops everything that was started; after 9 seconds without any more patience. */
function stop(code: number): Promise<void> {
  stopping ??= (async () => {
    const impatient = setTimeout(() => process.exit(1), stopWithinMs);
    await app?.close();
    await postgres?.stop();
    clearTimeout(impatient);
    process.exit(code);
  })();
  return stopping;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void stop(0));
process.on('unhandledRejection', (reason) =>
  console.error(JSON.stringify({ level: 50, msg: 'unhandled rejection', error: String(reason) })),
);

start().catch((error: unknown) => {
  const expected = error instanceof ConfigError || error instanceof EmbeddedPostgresError;
  console.error(expected ? error.message : error);
  return stop(1);
});
