import { setTimeout as delay } from 'node:timers/promises';
import { runMigrations as migrateJobs } from 'graphile-worker';
import { Pool } from 'pg';
import { DataSource, type Migration, MigrationExecutor } from 'typeorm';
import { monotonicMs } from '../clock';
import { checkConnections, type DatabaseUrls, withClient } from './connection-check';
import { dataSourceOptions, migrationSettings } from './data-source';
import { DatabaseClient } from './database-client';
import { checkServer } from './database-server';
import { StartFault } from '../start-fault';
import { type StartLog, withMigrationLock } from './migration-lock';

/** The last migration of release 0.2.0, and the name of the baseline. */
const oldest = { name: 'IndexUserWarnings1795200051000', timestamp: 1795200051000 };
/** SQLSTATEs of a lock timeout and of a deadlock with a request. */
const lockFaults = ['55P03', '40P01'];
const attemptsMax = 30;
const retryAfterMs = 1_000;
const silent: StartLog = { log: () => undefined, warn: () => undefined };

/**
 * Checks the connections, applies all pending migrations, and checks the server.
 * @throws StartFault
 */
export async function prepareDatabase(urls: DatabaseUrls, log: StartLog): Promise<void> {
  await checkConnections(urls, log);
  await migrateDatabase(urls.DATABASE_DIRECT_URL, log);
  await withClient('DATABASE_DIRECT_URL', urls.DATABASE_DIRECT_URL, (client) => checkServer(client, log));
}

/**
 * Applies all pending migrations. Each runs in a transaction, except migrations with
 * `transaction = false`: after a fault, they run again and skip the completed steps.
 * Instances that start at the same time wait for each other, so that each migration runs once.
 * A migration waits for table locks for 2 s at a time, because requests queue behind it.
 * Then adds the missing partitions of the audit log, so that the service can record events.
 * @param url direct connection, not through a pooler: the lock belongs to a session
 * @throws StartFault if a migration failed
 */
export async function migrateDatabase(url: string, log: StartLog = silent): Promise<void> {
  await withMigrationLock(url, log, async () => {
    const options = dataSourceOptions({ url, poolMax: 2, purpose: 'migrations' });
    const dataSource = await new DataSource(options).initialize();
    try {
      await runPending(dataSource, log);
      await untilUnlocked('the creation of partitions', log, () => dataSource.query('select events_add_months()'));
    } finally {
      await dataSource.destroy();
    }
    const pgPool = new Pool({ Client: DatabaseClient, connectionString: url, max: 2, ...migrationSettings });
    const ignore = () => undefined;
    pgPool.on('error', ignore).on('connect', (client) => client.on('error', ignore));
    try {
      await untilUnlocked('the migration of the job queue', log, () => migrateJobs({ pgPool }));
    } finally {
      await pgPool.end();
    }
  });
}

async function runPending(dataSource: DataSource, log: StartLog): Promise<void> {
  const runner = dataSource.createQueryRunner();
  try {
    const executor = new MigrationExecutor(dataSource, runner);
    checkExecuted(await executor.getExecutedMigrations(), dataSource, log);
    for (const migration of await executor.getPendingMigrations()) {
      const beganAt = monotonicMs();
      await untilUnlocked(migration.name, log, () =>
        migration.instance?.transaction === false
          ? executor.executeMigration(migration)
          : runner.manager.transaction(() => executor.executeMigration(migration)),
      );
      log.log(`applied migration ${migration.name} in ${Math.round(monotonicMs() - beganAt)} ms`);
    }
  } finally {
    await runner.release();
  }
}

/**
 * Warns if a newer release has migrated the database.
 * @throws StartFault if the database is older than release 0.2.0
 */
function checkExecuted(executed: Migration[], { migrations }: DataSource, log: StartLog): void {
  if (executed.length > 0 && !executed.some(({ name }) => name === oldest.name))
    throw new StartFault('the database is older than release 0.2.0. Start release 0.2.0 once, then this release');
  const known = new Set(migrations.map(({ name, constructor }) => name ?? constructor.name));
  const newer = executed.filter(({ name, timestamp }) => timestamp > oldest.timestamp && !known.has(name));
  if (newer.length > 0)
    log.warn(`a newer release has migrated the database: ${newer.map(({ name }) => name).join(', ')}`);
}

/** Retries work that fails because of the lock of another transaction. */
async function untilUnlocked(name: string, log: StartLog, work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      const { code, message } = error as Error & { code?: string };
      if (!lockFaults.includes(code ?? '') || attempt === attemptsMax)
        throw new StartFault(`${name} failed: ${message}`, { cause: error });
      log.warn(`${name} waits for a lock of another transaction, attempt ${attempt} of ${attemptsMax}`);
    }
    await delay(retryAfterMs);
  }
}
