import { migrateDatabase } from '../database/migrate';
import { configWithDatabase } from './database-url';

/** Brings the database up to date. */
export async function migrate(): Promise<void> {
  const { config, stop } = await configWithDatabase();
  await migrateDatabase(config.DATABASE_DIRECT_URL).finally(stop);
  console.log('The database is up to date.');
}
