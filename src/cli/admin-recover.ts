import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../app.module';
import { FirstAdministrator } from '../auth/first-administrator.service';
import { migrateDatabase } from '../database/migrate';
import { configWithDatabase } from './database-url';
import { runCommand } from './run-command';

/** Prints a one-time link with which an administrator sets a new password: `npm run admin:recover [-- name]`. */
runCommand(async () => {
  const { config, stop } = await configWithDatabase();
  try {
    await migrateDatabase(config.DATABASE_DIRECT_URL);
    const app = await NestFactory.createApplicationContext(AppModule.forRoot(config), { logger: ['error'] });
    const administrators = app.get(FirstAdministrator);
    console.log((await administrators.ensure()) ?? (await administrators.recover(process.argv[2] ?? 'administrator')));
    await app.close();
  } finally {
    await stop();
  }
});
