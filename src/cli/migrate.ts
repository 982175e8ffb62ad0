import { parseArgs } from 'node:util';
import { migrateDatabase } from '../database/migrate';
import { configWithDatabase } from './database-url';

/** Applies all pending migrations. */
export async function migrate(args: string[]): Promise<void> {
  parseArgs({ args });
  const { config, stop } = await configWithDatabase();
  await migrateDatabase(config.DATABASE_DIRECT_URL).finally(stop);
  console.log('The database is up to date.');
}
