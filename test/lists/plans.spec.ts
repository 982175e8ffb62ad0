import type { Client } from 'pg';
import type { Actor } from '../../src/access/actor';
import type { Operator } from '../../src/http/lists/filter-value';
import { userList } from '../../src/users/user-list';
import { UsersRepository } from '../../src/users/users.repository';
import { userListQuery } from '../support/list-queries';
import {
  explaining,
  FilledDatabase,
  filterQueries,
  plansOfLists,
  sorting,
  sortQueries,
  wholeTables,
} from '../support/plans';

const someone = '018f0000-0000-7000-8000-000000000001';
const actor = (fields: Partial<Actor>) =>
  ({
    actor_type: 'user',
    user_id: someone,
    user_type: 'system',
    carrier_id: null,
    carrier_scope: null,
    ...fields,
  }) as Actor;
const callers = {
  everything: actor({}),
  carrier: actor({ user_type: 'carrier', carrier_id: 'carrier-180' }),
  scope: actor({ carrier_scope: ['carrier-180', 'carrier-190'] }),
};

/** A rare value of each field, for which a sequential scan is always wrong. */
const rare: Record<string, string> = {
  user_id: someone,
  user_type: 'system',
  status: 'invited',
  name: 'ada.zuse.400',
  email: 'ada@example.com',
  phone: '+431200012345',
  job_title: 'Fleet auditor',
  department: 'Fleet audit',
  locale: 'tlh',
  timezone: 'Europe/Vaduz',
  carrier_id: 'carrier-199',
  role: 'administrator',
  online: 'true',
  last_login_ip: '198.51.100.0/24',
  must_change_password: 'true',
  has_second_factor: 'true',
  must_enroll_second_factor: 'true',
};
const like: Record<string, string> = {
  name: 'zuse.1234',
  email: '1234@',
  phone: '012345',
  carrier_id: 'r-199',
  job_title: 'audit',
  department: 't audit',
  locale: 'tlh',
  timezone: '/vad',
};
/** Conditions that most users meet, so that PostgreSQL follows the index of the order. */
const common = new RegExp(
  '^(user_id|name|email|first_name|last_name|phone|locale|timezone|carrier_id|last_login_ip|online|status' +
    '|must_change_password|has_second_factor|must_enroll_second_factor|locked_until|\\w+_at)_ne$|^\\w+_isnull$',
);

function valueOf(field: string, operator: Operator): string {
  if (operator === 'isnull') return 'true';
  if (operator === 'like') return like[field] ?? 'nobody';
  if (userList.filter.fields[field]?.type === 'time')
    return operator === 'lt' || operator === 'lte' ? '2000-01-01T00:00:00Z' : '2099-01-01T00:00:00Z';
  const value = rare[field] ?? 'Nobody';
  if (field === 'user_type' && operator === 'ne') return 'carrier';
  return value;
}

/** Values of medium frequency, for which the better plan depends on the sampled statistics. */
const middling = [
  ...['q=ada', 'q=ada+zuse', 'q=zu', 'q=z'],
  ...['last_login_at_isnull=true', 'last_seen_at_isnull=true'],
];

const filters = filterQueries(userList, valueOf).filter((query) => !middling.includes(query));
const searches = ['q=zuse.1234', 'q=---', 'attributes.customer_number=777', 'attributes.tier=gold', 'name_like=---'];
const sorts = sortQueries(userList);

describe('query plans of lists of 100,000 users', () => {
  let database: FilledDatabase;
  let client: Client;

  beforeAll(async () => {
    database = await FilledDatabase.create(100_000);
    ({ client } = database);
    await client.query(`update users set second_factors = '{totp}' where name like '%9_999';
      update users set locked_until = '2026-11-20T12:30:00Z' where name like '%99_99';
      update roles set second_factor_required_from = '2026-01-01' where name = 'administrator';
      analyze users, roles`);
  });
  afterAll(() => database.drop());

  /** Returns a repository that adds the plan of each query to a list. */
  function repositoryOf(plans: string[]): UsersRepository {
    return new UsersRepository(explaining(client, plans));
  }

  const table = (caller: Actor, queries: string[]) =>
    plansOfLists(queries, (parameters, plans) => repositoryOf(plans).list(caller, userListQuery(parameters)));

  it('uses an index for each selective value', async () => {
    const plans = await table(callers.everything, [...filters, ...searches]);
    expect(wholeTables({ ...plans, ...(await table(callers.everything, middling)) }, '', common)).toEqual([]);
    expect(plans).toMatchSnapshot();
  });

  it('uses an index for each sort in both directions, including the next page', async () => {
    const plans = await table(callers.everything, sorts);
    expect(wholeTables(plans)).toEqual([]);
    expect(sorting(plans)).toEqual([]);
    expect(plans).toMatchSnapshot();
  });

  it.each(['carrier', 'scope'] as const)('uses an index within %s', async (caller) => {
    const plans = await table(callers[caller], [
      ...sorts,
      'q=zuse.1234',
      'q=ada',
      'role=carrier_administrator',
      'status=invited',
      'deleted=true',
    ]);
    expect(wholeTables(plans)).toEqual([]);
    expect(plans).toMatchSnapshot();
  });

  it('uses the partial index for deleted users', async () => {
    const plans = await table(callers.everything, [
      'deleted=true',
      ...sorts.map((sort) => `deleted=true&${sort}`),
      'deleted=true&q=zuse.1234',
    ]);
    expect(wholeTables(plans)).toEqual([]);
    expect(plans).toMatchSnapshot();
  });

  it('treats two hundred wildcards in a search as characters and uses an index (B11)', async () => {
    const wild = ['%25_'.repeat(100), '%25'.repeat(200), '_'.repeat(200), '%5C%25'.repeat(50)];
    const plans = await table(
      callers.everything,
      wild.flatMap((text) => [`q=${text}`, `name_like=${text}`, `last_name_like=${text}`]),
    );
    expect(wholeTables(plans)).toEqual([]);
    const search = (q: string) => repositoryOf([]).list(callers.everything, userListQuery({ q }));
    expect((await search('zuse%')).items).toEqual([]);
    expect((await search('zuse')).items.length).toBeGreaterThan(0);
  });

  it('sends the same number of queries for 500 users as for one, three at most (B21)', async () => {
    for (const query of ['order_by=name', 'status=active', 'q=zuse', 'order_by=last_login_at'])
      for (const caller of [callers.everything, callers.carrier]) {
        const [one = [], many = []] = Object.values(
          await table(caller, [`${query}&per_page=1`, `${query}&per_page=500`]),
        );
        expect(many.length).toBeLessThanOrEqual(one.length);
        expect(one.length).toBeLessThanOrEqual(3);
      }
  });

  it('estimates the total of a long list once per caller, and counts a shorter one each time', async () => {
    const plans: string[] = [];
    const repository = repositoryOf(plans);
    const query = jest.spyOn(client, 'query');
    const asked = async (
      caller: Actor,
      filter: Record<string, string>,
    ): Promise<{ planner: number; table: number }> => {
      const before = plans.length;
      query.mockClear();
      await repository.list(caller, userListQuery(filter));
      const planner = query.mock.calls.filter(([text]) => /^\s*explain \(format json\)\s/.test(String(text))).length;
      return { planner, table: plans.length - before };
    };
    const long = { role: 'carrier_user', status: 'active' };
    expect(await asked(callers.everything, long)).toEqual({ planner: 1, table: 1 });
    expect(await asked(callers.everything, { ...long, order_by: 'name' })).toEqual({ planner: 0, table: 1 });
    expect(await asked(callers.carrier, long)).toEqual({ planner: 1, table: 2 });
    for (let again = 0; again < 2; again++)
      expect(await asked(callers.everything, { status: 'invited' })).toEqual({ planner: 1, table: 2 });
    query.mockRestore();
  });

  it('detects a sequential scan', async () => {
    await client.query('begin; drop index user_search_trigrams_idx; set local enable_indexscan = off');
    const plans = await table(callers.everything, ['q=zuse.1234']);
    await client.query('rollback');
    expect(wholeTables(plans)).toHaveLength(1);
  });
});
