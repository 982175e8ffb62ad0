import type { PoolClient } from 'pg';
import type { TestService } from './service';
import { until } from './until';

/** Waits until at least this number of connections wait for a lock. */
export async function lockWaits(service: Pick<TestService, 'rows'>, count = 1): Promise<void> {
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await until(async () => (await service.rows(waiting)).length >= count, 120_000);
}

/** Runs work during a transaction of another connection, which is rolled back afterwards. */
export async function inTransaction<T>(
  { sql }: Pick<TestService, 'sql'>,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await sql.connect();
  try {
    await client.query('begin');
    return await work(client);
  } finally {
    await client.query('rollback');
    client.release();
  }
}
