import { prepareDatabase } from '../platform/database/migrate';
import { configWithDatabase } from './database-url';

/** Applies all pending migrations. */
export async function migrate(): Promise<void> {
  const { config, stop } = await configWithDatabase();
  await prepareDatabase(config, console).finally(stop);
  console.log('The database is up to date.');
}
