import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../app.module';
import { prepareDatabase } from '../platform/database/migrate';
import { configWithDatabase } from './database-url';

/** Migrates the database and runs work with the services of the application, without a server. */
export async function withApplication(work: (app: INestApplicationContext) => Promise<void>): Promise<void> {
  const { config, stop } = await configWithDatabase();
  try {
    // stdout is reserved for the result of the command.
    await prepareDatabase(config, { log: console.error, warn: console.error });
    const app = await NestFactory.createApplicationContext(AppModule.forRoot(config), {
      logger: ['error'],
      abortOnError: false,
    });
    await work(app);
    await app.close();
  } finally {
    await stop();
  }
}
