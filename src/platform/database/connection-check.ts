import type { Client } from 'pg';
import { firstOf } from '../../http/errors/database-error';
import { newRequestId } from '../random';
import type { Config } from '../config/config';
import { requestTimeouts } from './data-source';
import { DatabaseClient } from './database-client';
import { StartFault } from '../start-fault';
import type { StartLog } from './migration-lock';

/** The two connection settings. They are equal without a pooler. */
export type DatabaseUrls = Pick<Config, 'DATABASE_URL' | 'DATABASE_DIRECT_URL'>;

const needsSessions = 'Migrations, jobs and notifications need connections to PostgreSQL itself.';

/**
 * Checks that `DATABASE_DIRECT_URL` bypasses any pooler and leads to the database of
 * `DATABASE_URL`. Uses no session-level lock. Behind a pooler, also warns about missing timeouts.
 * @throws StartFault naming the variable to change
 */
export async function checkConnections(
  { DATABASE_URL, DATABASE_DIRECT_URL }: DatabaseUrls,
  log: StartLog,
): Promise<void> {
  const isOneUrl = DATABASE_URL === DATABASE_DIRECT_URL;
  const variable = isOneUrl ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL';
  await withClient(variable, DATABASE_DIRECT_URL, async (direct) => {
    if (await isPooled(direct)) throw pooledFault(variable);
    if (isOneUrl) return;
    await withClient('DATABASE_URL', DATABASE_URL, async (requests) => {
      if (!(await haveOneDatabase(direct, requests)))
        throw new StartFault('DATABASE_DIRECT_URL and DATABASE_URL must lead to the same database.');
      await checkPooledTimeouts(requests, log);
    });
  });
}

function pooledFault(variable: string): StartFault {
  return new StartFault(
    variable === 'DATABASE_URL'
      ? `DATABASE_URL leads to a connection pooler such as PgBouncer. ${needsSessions} ` +
          'Set DATABASE_DIRECT_URL to a URL of the same database that bypasses the pooler.'
      : `DATABASE_DIRECT_URL leads to a connection pooler such as PgBouncer. ${needsSessions} ` +
          'Set it to a URL that bypasses the pooler.',
  );
}

/** Connects with the parameters that every pooler accepts. */
export async function withClient(
  variable: string,
  url: string,
  work: (client: Client) => Promise<unknown>,
): Promise<void> {
  const client = new DatabaseClient({
    connectionString: url,
    application_name: 'carrier-identity start',
    query_timeout: 15_000,
  });
  try {
    await client.connect();
  } catch (error) {
    // PgBouncer reports parameters of the URL that it does not support.
    if (/unsupported startup parameter/.test((error as Error).message)) throw pooledFault(variable);
    if (variable === 'DATABASE_URL') throw error;
    throw new StartFault(`The database of ${variable} cannot be used: ${firstOf(error).message}`, { cause: error });
  }
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Returns whether a connection leads to a pooler instead of PostgreSQL.
 * PostgreSQL announces the process id of the connection, for cancel requests. A pooler announces
 * another number, because it assigns cancel requests to server connections itself.
 */
async function isPooled(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid !== (client as Client & { processID: number }).processID;
}

/** Returns whether a lock of one connection blocks the other: only if they share a database. */
async function haveOneDatabase(direct: Client, requests: Client): Promise<boolean> {
  const key = [newRequestId()];
  await direct.query('begin');
  await direct.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', key);
  const { rows } = await requests.query<{ free: boolean }>(
    'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as free',
    key,
  );
  await direct.query('rollback');
  return rows[0]?.free === false;
}

/**
 * Warns if the role of `DATABASE_URL` lacks the timeouts of requests, which a pooler rejects as
 * connection parameters. The warning contains the SQL that sets them.
 */
async function checkPooledTimeouts(requests: Client, log: StartLog): Promise<void> {
  const { rows } = await requests.query<{ change: string }>(
    `
    select format(
      'alter role %I in database %I set %s = ''%sms'';', current_user, current_database(), wanted.name, ms
    ) as change
    from json_each_text($1) with ordinality wanted (name, ms, place)
    join pg_settings on pg_settings.name = wanted.name and setting::integer not between 1 and ms::integer
    order by place`,
    [JSON.stringify(requestTimeouts)],
  );
  if (rows.length === 0) return;
  const changes = rows.map(({ change }) => change).join(' ');
  log.warn(`requests through the pooler of DATABASE_URL have no timeouts. Run once: ${changes}`);
}
