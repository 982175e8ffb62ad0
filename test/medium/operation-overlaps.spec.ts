import { Client } from 'pg';
import { CursorCodec } from '../../src/common/query/cursor';
import type { SqlFragment } from '../../src/common/query/sql';
import type { Database } from '../../src/database/database';
import { OperationsRepository } from '../../src/operations/operations.repository';
import { appSecret } from '../support/service';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const mine = '018f0000-0000-7000-8000-000000000001';
const theirs = '018f0000-0000-7000-8000-000000000002';
const [few, many] = [200, 20_000];

describe('a bulk change beside a long operation', () => {
  let database: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
    for (const operation_id of [mine, theirs])
      await client.query(
        `
          insert into operations (operation_id, kind, permission, status, actor_id, request)
          values ($1, 'change', 'user:update', 'waiting', $1, '{}')`,
        [operation_id],
      );
    await addBatches(theirs, many, 0);
    // Spread between the others, from the first to the last.
    await addBatches(mine, few, 1);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  const addBatches = (operation_id: string, count: number, beside: number) =>
    client.query(
      `
        insert into operation_batches (operation_id, number, user_ids)
        select $1::uuid, n / 5000, array_agg(id order by id)
        from (
          select n, ('018f0000-0000-7000-8000-' || lpad(to_hex(n * $4::integer + $3::integer), 12, '0'))::uuid as id
          from generate_series(0, $2::integer - 1) n
        ) every
        group by n / 5000`,
      [operation_id, count, beside, (2 * many) / count],
    );

  /** Returns the number of compared rows, which does not depend on the machine. */
  async function comparisons(): Promise<{ overlaps: boolean; compared: number }> {
    let compared = 0;
    const run = async (query: SqlFragment) => {
      const { text, values } = query.toQuery();
      const { rows } = await client.query(`explain (analyze, format json) ${text}`, values);
      const removed = JSON.stringify(rows).matchAll(/"Rows Removed by Join Filter":([0-9]+)/g);
      for (const [, count] of removed) compared += Number(count);
      return (await client.query(text, values)).rows;
    };
    const repository = new OperationsRepository(
      { run } as unknown as Database,
      new CursorCodec(Buffer.from(appSecret)),
    );
    const { rows } = await client.query<{ user_ids: string[] }>(
      'select user_ids from operation_batches where operation_id = $1',
      [mine],
    );
    const user_ids = rows.flatMap((batch) => batch.user_ids);
    return { overlaps: await repository.overlaps(mine, user_ids), compared };
  }

  it.each(['without statistics', 'with statistics'])(
    'looks each user up and compares no two lists: %s (B15)',
    async (state) => {
      if (state === 'with statistics') await client.query('analyze operations, operation_batches');
      const { overlaps, compared } = await comparisons();
      expect(overlaps).toBe(false);
      expect(compared).toBeLessThan(many);
    },
  );

  it('finds a single user who is in both operations (B15)', async () => {
    await client.query(
      `
        update operation_batches
        set user_ids = (
          select array_agg(id order by id)
          from unnest(
            user_ids || (select user_ids[777] from operation_batches where operation_id = $2 and number = 2)
          ) id
        )
        where operation_id = $1`,
      [mine, theirs],
    );
    expect((await comparisons()).overlaps).toBe(true);
  });
});
