import { checkConnections, type DatabaseUrls } from './connection-check';
import { migrateDatabase } from './migrate';
import type { StartLog } from './migration-lock';
import { checkSchema } from './schema-check';

/**
 * Prepares the database for this release: checks the connections, applies all pending migrations
 * and checks the schema.
 * @throws DatabaseFault
 */
export async function prepareDatabase(urls: DatabaseUrls, log: StartLog): Promise<void> {
  await checkConnections(urls);
  await migrateDatabase(urls.DATABASE_DIRECT_URL, log);
  await checkSchema(urls.DATABASE_DIRECT_URL, log);
}
