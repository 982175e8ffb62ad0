import 'reflect-metadata';
import { migrateDatabase } from '../database/migrate';
import { configWithDatabase } from './database-url';
import { runCommand } from './run-command';

runCommand(async () => {
  const { config, stop } = await configWithDatabase();
  await migrateDatabase(config.DATABASE_DIRECT_URL).finally(stop);
  console.log('The database is up to date.');
});
