import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../app.module';
import { migrateDatabase } from '../database/migrate';
import { configWithDatabase } from './database-url';

/** Migrates the database and runs work with the services of the application, without a server. */
export async function withApplication(work: (app: INestApplicationContext) => Promise<void>): Promise<void> {
  const { config, stop } = await configWithDatabase();
  try {
    await migrateDatabase(config.DATABASE_DIRECT_URL);
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
