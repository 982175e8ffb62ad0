import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { monotonicMs } from '../clock';
import { advisoryLocks } from '../advisory-locks';
import { StartFault } from '../start-fault';
import { closeDead, DatabaseClient } from './database-client';

/** Receives log lines about the preparation of the database. */
export interface StartLog {
  log(line: string): void;
  warn(line: string): void;
}

const pollEveryMs = 250;
const giveUpMs = 5 * 60_000;

/**
 * Runs work while no other instance migrates the database.
 * The lock belongs to a connection: PostgreSQL releases it when the connection ends, even after a
 * crash.
 * @param url direct connection, not through a pooler
 * @param patienceMs time to wait for another instance
 * @throws StartFault if another session keeps the lock for longer
 */
export async function withMigrationLock<Result>(
  url: string,
  log: StartLog,
  work: () => Promise<Result>,
  patienceMs = giveUpMs,
): Promise<Result> {
  const client = new DatabaseClient({
    connectionString: url,
    application_name: 'carrier-identity migrations',
    options: closeDead,
    query_timeout: 15_000,
  });
  await client.connect();
  try {
    await waitForLock(client, log, patienceMs);
    return await work();
  } finally {
    await client.end();
  }
}

/**
 * Polls, because a session that waits in PostgreSQL would block `create index concurrently` in the
 * session that holds the lock.
 */
async function waitForLock(client: Client, log: StartLog, patienceMs: number): Promise<void> {
  const beganAt = monotonicMs();
  for (let isWaiting = false; ; isWaiting = true) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
      advisoryLocks.migrations,
    ]);
    if (rows[0]?.locked === true) return;
    if (!isWaiting) log.warn('waits for another instance, which migrates the database');
    if (monotonicMs() - beganAt >= patienceMs)
      throw new StartFault(
        `Another session has held the lock for migrations for more than ${Math.round(patienceMs / 1_000)} s. ` +
          'If it is not a running instance, end it (docs/database.md, "The lock for migrations").',
      );
    await delay(pollEveryMs);
  }
}
