import { Client } from 'pg';
import { fillUsers } from '../../bench/fill';
import type { Actor } from '../../src/access/actor';
import { CursorCodec } from '../../src/common/query/cursor';
import { dataSourceOptions } from '../../src/database/data-source';
import { UsersRepository } from '../../src/users/users.repository';
import { explaining } from '../support/plans';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

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
  let database: TestDatabase;
  let client: Client;
  let plans: string[];
  let repository: UsersRepository;

  beforeAll(async () => {
    database = await createTestDatabase();
    const { extra } = dataSourceOptions({ url: database.url, poolMax: 1, purpose: 'requests' }) as {
      extra: { options: string };
    };
    client = new Client({ connectionString: database.url, options: extra.options });
    await client.connect();
    await client.query('set default_statistics_target = 400');
    await fillUsers(client, users, '2026-11-20T12:00:00Z');
    // `spread` and `oldest` have 2,000 users each, `scarce` has 20.
    await client.query(`
      update users
      set roles = array_cat(array_cat(
        case when number % 20 = 3 then '{spread}'::text[] else '{}' end,
        case when number < 2000 then '{oldest}'::text[] else '{}' end),
        case when number % 2000 = 7 then '{scarce}'::text[] else '{}' end)
      from (select user_id as id, row_number() over (order by created_at) as number from users) numbered
      where id = user_id`);
    await client.query('vacuum analyze users');
  });
  beforeEach(() => {
    plans = [];
    repository = new UsersRepository(explaining(client, plans), new CursorCodec(Buffer.alloc(32)));
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  const idsOf = (rows: { user_id: string }[]) => rows.map(({ user_id }) => user_id);
  /** Returns the ids of all pages, by cursor. */
  const walk = async (caller: Actor, query: Record<string, string>) => {
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const after: Record<string, string> = cursor === '' ? {} : { cursor };
      const page = await repository.list(caller, { per_page: '500', count: 'none', ...query, ...after }, false);
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
      await repository.list(everything, { role, count: 'none' }, false);
      return plans;
    };
    const walked = expect.stringContaining('users_created_at_idx users_pkey') as string;
    const found = expect.stringContaining('users_roles_idx users_pkey') as string;
    expect(await firstPlans('spread')).toEqual([walked]);
    expect(await firstPlans('oldest')).toEqual([walked, found]);
    expect(await firstPlans('scarce')).toEqual([found]);
  });

  it.each(['created_at', 'updated_at', 'last_login_at', 'status', 'carrier_id', 'last_name'])(
    'returns any page by number, by %s',
    async (sort) => {
      const key = sort === 'last_name' ? 'lower(last_name)' : sort;
      const ids = await expected('true', `${key} desc nulls last, user_id desc`);
      for (const page of [1, 2, 300, 560, 561, Math.ceil(ids.length / 50), Math.ceil(ids.length / 50) + 1]) {
        const query = { order_by: sort, page: String(page), count: 'none' };
        const { items } = await repository.list(everything, query, false);
        expect([page, idsOf(items)]).toEqual([page, ids.slice((page - 1) * 50, page * 50)]);
      }
    },
  );

  it('skips the rows before a page by an index alone', async () => {
    for (const query of [{}, { order_by: 'updated_at' }, { order_by: 'status' }])
      await repository.list(everything, { ...query, page: '500', count: 'none' }, false);
    const skipped = expect.stringContaining('ids of users users_pkey') as string;
    expect(plans).toEqual([skipped, skipped, skipped]);
  });
});
