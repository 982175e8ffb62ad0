import type { Client } from 'pg';
import type { Actor } from '../../src/access/actor';
import type { SqlFragment } from '../../src/http/lists/sql';
import type { Database } from '../../src/platform/database/database';
import { UsersRepository } from '../../src/users/users.repository';
import { userListQuery } from '../support/list-queries';
import { explaining, FilledDatabase } from '../support/plans';

/** A node of an executed plan. */
interface ExecutedPlan {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  Plans?: ExecutedPlan[];
}

const users = 40_000;
const everything = {
  actor_type: 'user',
  user_id: '018f0000-0000-7000-8000-000000000001',
  user_type: 'system',
  carrier_id: null,
  carrier_scope: null,
} as Actor;
const callers = {
  everything,
  carrier: { ...everything, user_type: 'carrier', carrier_id: 'carrier-1' } as Actor,
  scope: { ...everything, carrier_scope: ['carrier-1', 'carrier-2', 'carrier-3'] } as Actor,
};
const visible = {
  everything: 'true',
  carrier: `carrier_id = 'carrier-1'`,
  scope: `carrier_id in ('carrier-1', 'carrier-2', 'carrier-3')`,
};

describe('pages of 40,000 users', () => {
  let database: FilledDatabase;
  let client: Client;
  let plans: string[];
  let repository: UsersRepository;

  beforeAll(async () => {
    database = await FilledDatabase.create(users);
    ({ client } = database);
    // `spread` has 2,000 users, `oldest` has 800, `scarce` has 20.
    await client.query(`
      update users
      set roles = array_cat(array_cat(
        case when number % 20 = 3 then '{spread}'::text[] else '{}' end,
        case when number <= 800 then '{oldest}'::text[] else '{}' end),
        case when number % 2000 = 7 then '{scarce}'::text[] else '{}' end)
      from (select user_id as id, row_number() over (order by created_at) as number from users) numbered
      where id = user_id`);
    await client.query('vacuum analyze users');
  });
  beforeEach(() => {
    plans = [];
    repository = new UsersRepository(explaining(client, plans));
  });
  afterAll(() => database.drop());

  const idsOf = (rows: { user_id: string }[]) => rows.map(({ user_id }) => user_id);
  /** Returns the ids of all pages, by cursor. */
  const walk = async (caller: Actor, query: Record<string, string>) => {
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const after: Record<string, string> = cursor === '' ? {} : { cursor };
      const page = await repository.list(caller, userListQuery({ per_page: '500', count: 'none', ...query, ...after }));
      ids.push(...idsOf(page.items));
      cursor = page.next_cursor;
    }
    return ids;
  };
  const expected = async (where: string, order: string, window = '') => {
    const { rows } = await client.query<{ user_id: string }>(
      `select user_id from users where deleted_at is null and ${where} order by ${order} ${window}`,
    );
    return idsOf(rows);
  };

  it.each(['everything', 'carrier', 'scope'] as const)('shows each user with a role once within %s', async (scope) => {
    for (const role of ['spread', 'oldest', 'scarce'])
      for (const direction of ['asc', 'desc']) {
        const order = `created_at ${direction}, user_id ${direction}`;
        const ids = await expected(`roles @> '{${role}}' and ${visible[scope]}`, order);
        expect(await walk(callers[scope], { role, order_dir: direction })).toEqual(ids);
      }
  });

  it('reads the first page of a frequent role in order, and finds the users of others first', async () => {
    const firstPlans = async (role: string) => {
      plans.length = 0;
      await repository.list(everything, userListQuery({ role, count: 'none' }));
      return plans;
    };
    const walked = expect.stringContaining('users_created_at_idx') as string;
    const found = expect.stringContaining('sort users_roles_idx') as string;
    expect(await firstPlans('spread')).toEqual([walked]);
    // In the order of the list, the other 39,200 users come first.
    expect(await firstPlans('oldest')).toEqual([found]);
    expect(await firstPlans('scarce')).toEqual([found]);
  });

  it('reads few rows beyond the page, although it is planned for ten times as many', async () => {
    const rowsOf = ({ Plans = [], ...node }: ExecutedPlan): number[] => [
      ...(node['Relation Name'] === 'users' ? [node['Actual Rows'] * node['Actual Loops']] : []),
      ...Plans.flatMap(rowsOf),
    ];
    const run = async <Row>(fragment: SqlFragment) => {
      const { text, values } = fragment.toQuery();
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: ExecutedPlan }] }>(
        `explain (analyze, format json) ${text}`,
        values,
      );
      plans.push(...rows.flatMap((row) => row['QUERY PLAN'].flatMap(({ Plan }) => rowsOf(Plan))).map(String));
      return (await client.query(text, values)).rows as Row[];
    };
    const queries = { run, runPrepared: run, estimates: new Map<string, number>() };
    const reading = new UsersRepository({ ...queries, answers: queries } as unknown as Database);
    for (const order_by of ['created_at', 'name', 'last_login_at'])
      await reading.list(everything, userListQuery({ user_type: 'carrier', order_by, count: 'none' }));
    const { rows } = await client.query<{ server_version_num: string }>('show server_version_num');
    const knowsOrderOfCte = Number(rows[0]?.server_version_num) >= 170_000;
    // An incremental sort reads at least 65 rows.
    expect(Math.max(...plans.map(Number))).toBeLessThanOrEqual(knowsOrderOfCte ? 65 : 510);
  });

  it.each(['created_at', 'updated_at', 'last_login_at', 'status', 'carrier_id', 'last_name'])(
    'returns any page by number, by %s',
    async (sort) => {
      const key = sort === 'last_name' ? 'lower(last_name)' : sort;
      const ids = await expected('true', `${key} desc nulls last, user_id desc`);
      for (const page of [1, 300, 561, Math.ceil(ids.length / 50), Math.ceil(ids.length / 50) + 1]) {
        const query = { order_by: sort, page: String(page), count: 'none' };
        const { items } = await repository.list(everything, userListQuery(query));
        expect([page, idsOf(items)]).toEqual([page, ids.slice((page - 1) * 50, page * 50)]);
      }
    },
  );

  it('skips the rows before a page by an index alone', async () => {
    for (const query of [{}, { order_by: 'updated_at' }, { order_by: 'status' }])
      await repository.list(everything, userListQuery({ ...query, page: '500', count: 'none' }));
    const skipped = expect.stringContaining('ids of users sort users_pkey') as string;
    expect(plans).toEqual([skipped, skipped, skipped]);
  });
});
