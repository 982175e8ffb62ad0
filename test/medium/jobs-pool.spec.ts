import type { PoolClient } from 'pg';
import { JobsPool } from '../../src/jobs/jobs-pool';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

/** SQLSTATE after which the worker retries a statement. */
const retried = '57P03';

describe('the pool of the jobs', () => {
  let database: TestDatabase;
  let pool: JobsPool;
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new JobsPool({ connectionString: database.url, max: 2 });
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  /** Uses a connection, and returns it to the pool. */
  async function using(work: (client: PoolClient) => Promise<void>): Promise<void> {
    const client = await pool.connect();
    await work(client).finally(() => client.release());
  }
  const failsWith = (code: string, failing: Promise<unknown>) => expect(failing).rejects.toMatchObject({ code });

  it('retries a statement that exceeds its time limit (F41)', () =>
    using(async (client) => {
      await client.query(`begin; set local statement_timeout = '10ms'`);
      await failsWith(retried, client.query('select pg_sleep(60)'));
      await client.query('rollback');
    }));

  it('retries a statement that waits too long for a lock (F41)', () =>
    using((holder) =>
      using(async (client) => {
        await holder.query('begin; lock table users');
        await client.query(`begin; set local lock_timeout = '10ms'`);
        await failsWith(retried, client.query('lock table users'));
        await Promise.all([holder, client].map((each) => each.query('rollback')));
      }),
    ));

  it('replaces a connection whose server is read-only, and retries (F40)', async () => {
    const pids: unknown[] = [];
    const pid = async (client: PoolClient) => pids.push((await client.query('select pg_backend_pid()')).rows[0]);
    await using(async (client) => {
      await pid(client);
      await client.query('set default_transaction_read_only = on');
      await failsWith(retried, client.query('delete from users'));
    });
    await using(async (client) => {
      await client.query('delete from users');
      await pid(client);
    });
    expect(pids[0]).not.toEqual(pids[1]);
  });

  it('does not retry after other errors', () => using((client) => failsWith('22012', client.query('select 1 / 0'))));
});
