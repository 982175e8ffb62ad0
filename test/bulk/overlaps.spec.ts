import type { SqlFragment } from '../../src/http/lists/sql';
import type { Database } from '../../src/platform/database/database';
import { OperationBatchesRepository } from '../../src/users/operations/operation-batches.repository';
import { useDatabase } from '../support/test-database';

const mine = '018f0000-0000-7000-8000-000000000001';
const theirs = '018f0000-0000-7000-8000-000000000002';
const [few, many] = [200, 20_000];

describe('the search for users of a bulk change in a long operation', () => {
  const database = useDatabase();
  beforeAll(async () => {
    for (const operation_id of [mine, theirs])
      await database.query(
        `
          insert into operations (operation_id, kind, permission, status, actor_id, request)
          values ($1, 'change', 'user:update', 'waiting', $1, '{}')`,
        [operation_id],
      );
    await addBatches(theirs, many, 0);
    // Spread between the others, from the first to the last.
    await addBatches(mine, few, 1);
  });

  const addBatches = (operation_id: string, count: number, beside: number) =>
    database.query(
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
  async function compare(user_ids: string[]): Promise<{ overlaps: boolean; compared: number }> {
    let compared = 0;
    const run = async (query: SqlFragment) => {
      const { text, values } = query.toQuery();
      const { rows } = await database.query(`explain (analyze, format json) ${text}`, values);
      const removed = JSON.stringify(rows).matchAll(/"Rows Removed by Join Filter":([0-9]+)/g);
      for (const [, count] of removed) compared += Number(count);
      return (await database.query(text, values)).rows;
    };
    const repository = new OperationBatchesRepository({ run } as unknown as Database);
    return { overlaps: await repository.overlaps(mine, user_ids), compared };
  }
  const idsOf = async (operation_id: string) =>
    (
      await database.query<{ user_ids: string[] }>('select user_ids from operation_batches where operation_id = $1', [
        operation_id,
      ])
    ).rows.flatMap(({ user_ids }) => user_ids);

  it.each(['without', 'with'])('looks each user up and compares no two lists, %s statistics (B15)', async (state) => {
    if (state === 'with') await database.query('analyze operations, operation_batches');
    const { overlaps, compared } = await compare(await idsOf(mine));
    expect(overlaps).toBe(false);
    expect(compared).toBeLessThan(many);
  });

  it('finds a single user who is in both operations (B15)', async () => {
    const common = (await idsOf(theirs))[10_777] as string;
    expect((await compare([...(await idsOf(mine)), common])).overlaps).toBe(true);
  });
});
