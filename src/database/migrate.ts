import { runMigrations as migrateJobs } from 'graphile-worker';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from './data-source';

/** Arbitrary key, the same for all instances. */
const migrationLock = 7_263_004;

/**
 * Migrates the schema, then runs `prepare` (initial rows) under the same lock.
 * Instances that start at the same time wait for each other, so that each migration runs once.
 * A failed migration is rolled back.
 * @param url direct connection, not through a pooler: the lock belongs to a session
 */
export async function migrateDatabase(
  url: string,
  prepare: (dataSource: DataSource) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const lock = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  lock.on('error', () => undefined);
  await lock.connect();
  try {
    await lock.query('select pg_advisory_lock($1)', [migrationLock]);
    const dataSource = await new DataSource(dataSourceOptions({ url, poolMax: 2, purpose: 'migrations' })).initialize();
    try {
      await dataSource.runMigrations();
      await migrateJobs({ connectionString: url });
      await prepare(dataSource);
    } finally {
      await dataSource.destroy();
    }
  } finally {
    await lock.end();
  }
}
