import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { monotonicMs } from '../common/clock';
import { advisoryLocks } from '../common/advisory-locks';
import { DatabaseFault } from './database-fault';

/** Receives log lines about the preparation of the database. */
export interface StartLog {
  log(line: string): void;
  warn(line: string): void;
}

const pollEveryMs = 250;
/** Time until the first log line about the holder, and between two lines. */
const reportAfterMs = 2_000;
const reportEveryMs = 10_000;
const giveUpMs = 5 * 60_000;

/**
 * Runs work while no other instance migrates the database.
 * The lock belongs to a connection: PostgreSQL releases it when the connection ends, even after a
 * crash.
 * @param url direct connection, not through a pooler
 * @param patienceMs time to wait for another instance
 * @throws DatabaseFault naming the holder of the lock
 */
export async function withMigrationLock<Result>(
  url: string,
  log: StartLog,
  work: () => Promise<Result>,
  patienceMs = giveUpMs,
): Promise<Result> {
  const client = new Client({
    connectionString: url,
    application_name: 'carrier-identity migrations',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await waitForLock(client, log, patienceMs);
    return await work();
  } finally {
    await client.end();
  }
}

/** Polls instead of waiting in PostgreSQL, so that the wait can be logged and limited. */
async function waitForLock(client: Client, log: StartLog, patienceMs: number): Promise<void> {
  const beganAt = monotonicMs();
  let reportAt = reportAfterMs;
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
      advisoryLocks.migrations,
    ]);
    if (rows[0]?.locked === true) return;
    const waitedMs = monotonicMs() - beganAt;
    if (waitedMs >= patienceMs)
      throw new DatabaseFault(
        `Another session has held the lock for migrations for more than ${Math.round(patienceMs / 1_000)} s: ` +
          `${await describeHolder(client)}. If it is not a running instance, end it with pg_terminate_backend(pid).`,
      );
    if (waitedMs >= reportAt) {
      log.warn(`waiting for the lock for migrations, held by ${await describeHolder(client)}`);
      reportAt += reportEveryMs;
    }
    await delay(pollEveryMs);
  }
}

interface Holder {
  pid: number;
  application_name: string | null;
  address: string | null;
  connected_at: Date | null;
}

/**
 * Describes the session that holds the lock. PostgreSQL shows its address and time only to the same
 * role and to monitoring roles.
 */
async function describeHolder(client: Client): Promise<string> {
  const { rows } = await client.query<Holder>(
    `select pid, application_name, host(client_addr) as address, backend_start as connected_at
    from pg_locks
    left join pg_stat_activity using (pid)
    where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())
      and (classid, objid, objsubid) = (0, $1, 1)
      and granted`,
    [advisoryLocks.migrations],
  );
  const [holder] = rows;
  if (holder === undefined) return 'a session that has just released it';
  const name = JSON.stringify(holder.application_name ?? '');
  const since = holder.connected_at?.toISOString() ?? 'an unknown time';
  return `pid ${holder.pid} (${name} from ${holder.address ?? 'an unknown address'}, connected since ${since})`;
}
