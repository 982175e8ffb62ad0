import { Client } from 'pg';
import { rawSql, sql } from '../../src/common/query/sql';
import { isTaken } from '../../src/users/user-rules';
import { addManyUsers } from '../support/many-users';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

/** What is read of one table. */
interface PlanNode {
  Alias?: string;
  'Actual Loops': number;
  'Actual Rows': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}
const [many, back] = [3_000, 2_000];

describe('whether names and addresses are taken', () => {
  let database: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
    await addManyUsers(
      { rows: async <Row>(text: string, values?: unknown[]) => (await client.query(text, values)).rows as Row[] },
      many,
      'many',
    );
    await client.query('update users set deleted_at = now()');
    await client.query('analyze users');
    await client.query(`update users set deleted_at = null where (attributes ->> 'number')::integer <= ${back}`);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  const ask = async (column: 'name' | 'email', explain = '') => {
    const { text, values } =
      sql`select count(*)::integer as asked, count(*) filter (where ${isTaken(column, rawSql('row.value'))})::integer as taken
      from unnest(array(select upper(${rawSql(column)}) from users)) as row (value)`.toQuery();
    return (await client.query(explain + text, values)).rows;
  };
  const readOf = (node: PlanNode): number => {
    const own = node.Alias === 'other' ? node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) : 0;
    return own + (node.Plans ?? []).reduce((sum, below) => sum + readOf(below), 0);
  };

  it.each(['name', 'email'] as const)(
    '%s: looked up one by one, also while the planner believes that everybody is deleted',
    async (column) => {
      expect(await ask(column)).toEqual([{ asked: many, taken: back }]);
      const [{ 'QUERY PLAN': plans } = { 'QUERY PLAN': [] }] = await ask(column, 'explain (analyze, format json) ');
      const read = (plans as { Plan: PlanNode }[]).reduce((sum, { Plan }) => sum + readOf(Plan), 0);
      // the plan tells averages, rounded
      expect(read).toBeLessThan(2 * back);
    },
  );
});
