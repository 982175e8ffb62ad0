import type { Client } from 'pg';
import { type Actor, systemActor } from '../../src/access/actor';
import { eventBase } from '../../src/audit/event-base';
import type { Operator } from '../../src/http/lists/filter-value';
import { rawSql, sql, type SqlFragment } from '../../src/http/lists/sql';
import type { Database } from '../../src/platform/database/database';
import type { UserAction } from '../../src/users/changes/user-change';
import { applyActionSql } from '../../src/users/changes/user-changes.sql';
import { beforeOperationJoins } from '../../src/users/user-assignments.sql';
import { userList } from '../../src/users/user-list';
import { UsersRepository } from '../../src/users/users.repository';
import { isTaken } from '../../src/users/users.sql';
import { userListQuery } from '../support/contract/list-queries';
import { addManyUsers } from '../support/data/many-users';
import {
  explaining,
  FilledDatabase,
  filterQueries,
  plansOfLists,
  sorting,
  sortQueries,
  wholeTables,
} from '../support/contract/plans';
import { useDatabase } from '../support/test-database';

/** A node of an executed plan. */
interface ExecutedPlan {
  Alias?: string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: ExecutedPlan[];
}

const someone = '018f0000-0000-7000-8000-000000000001';
const actor = (fields: Partial<Actor>) => {
  const system = { actor_type: 'user', user_id: someone, user_type: 'system', carrier_id: null, carrier_scope: null };
  return { ...system, ...fields } as Actor;
};
const everything = actor({});
const callers = {
  everything,
  carrier: actor({ user_type: 'carrier', carrier_id: 'carrier-180' }),
  scope: actor({ carrier_scope: ['carrier-180', 'carrier-190'] }),
};

/** A rare value of each field, for which a sequential scan is always wrong. */
const rare: Record<string, string> = {
  ...{ user_id: someone, user_type: 'system', status: 'invited', name: 'ada.zuse.400', email: 'ada@example.com' },
  ...{ phone: '+431200012345', job_title: 'Fleet auditor', department: 'Fleet audit', locale: 'tlh' },
  ...{ timezone: 'Europe/Vaduz', carrier_id: 'carrier-199', role: 'administrator', online: 'true' },
  ...{ last_login_ip: '198.51.100.0/24', must_change_password: 'true', has_second_factor: 'true' },
  must_enroll_second_factor: 'true',
};
const like: Record<string, string> = {
  ...{ name: 'zuse.1234', email: '1234@', phone: '012345', carrier_id: 'r-199', job_title: 'audit' },
  ...{ department: 't audit', locale: 'tlh', timezone: '/vad' },
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

/** The indexes of the sorts, by the field. */
const sortIndexes: Record<string, string> = {
  ...{ carrier_id: 'users_carrier_id_user_id_idx', created_at: 'users_created_at_idx', email: 'users_email_key' },
  ...{ last_login_at: 'user_logins_last_login_at_idx', last_name: 'user_search_lower_last_name_idx' },
  ...{ last_seen_at: 'user_seen_last_seen_at_idx', name: 'users_name_key', status: 'users_status_idx' },
  updated_at: 'users_updated_at_idx',
};
/** The indexes of the filters, by the field. The name may be only the beginning. */
const filterIndexes: Record<string, string> = {
  ...sortIndexes,
  ...Object.fromEntries(
    ['first_name', 'last_name', 'phone', 'job_title', 'department', 'locale', 'timezone'].map((field) => [
      ...[field, `user_search_${field}_idx`],
    ]),
  ),
  ...{
    user_id: 'users_pkey',
    user_type: 'users_carrier_id_',
    carrier_id: 'users_carrier_id_',
    role: 'users_roles_idx',
  },
  ...{ last_login_ip: 'user_logins_last_login_ip_idx', online: 'user_seen_last_seen_at_idx' },
  ...{ locked_until: 'users_locked_until_idx', password_changed_at: 'users_password_changed_at_idx' },
  ...{ must_change_password: 'users_must_change_password_idx', has_second_factor: 'users_second_factors_idx' },
  must_enroll_second_factor: 'users_roles_idx',
};
const trigrams = 'user_search_trigrams_idx';
/** Returns the index of a filter, or that of the order for conditions that most users meet. */
function indexOf(query: string): RegExp {
  const [parameter = ''] = query.split('=');
  if (parameter === 'q' || parameter.endsWith('_like')) return new RegExp(trigrams);
  if (parameter.startsWith('attributes.')) return /users_attributes_idx/;
  const field = parameter.replace(/_(ne|in|gte?|lte?|isnull)$/, '');
  const own = filterIndexes[field] ?? `no index of ${field}`;
  return new RegExp(common.test(parameter) || parameter.endsWith('_ne') ? `${own}|users_created_at_idx` : own);
}

/** Values of medium frequency, for which the better plan depends on the sampled statistics. */
const middling = ['q=ada', 'q=ada+zuse', 'q=zu', 'q=z', 'last_login_at_isnull=true', 'last_seen_at_isnull=true'];
const filters = filterQueries(userList, valueOf).filter((query) => !middling.includes(query));
const searches = ['q=zuse.1234', 'q=---', 'attributes.customer_number=777', 'attributes.tier=gold', 'name_like=---'];
const sorts = sortQueries(userList);
/** Returns the index of a query such as `order_by=name&order_dir=asc`. */
const indexOfSort = (sort: string) => sortIndexes[new URLSearchParams(sort).get('order_by') ?? ''] ?? 'none';

/** Returns the number of rows that a plan read from a table or its alias. */
function rowsRead(node: ExecutedPlan, name: string): number {
  const own = [node.Alias, node['Relation Name']].includes(name)
    ? node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0))
    : 0;
  return own + (node.Plans ?? []).reduce((sum, below) => sum + rowsRead(below, name), 0);
}

/** Runs a query, and returns its rows and the number of rows that its plan read from a table. */
async function runCounting(client: Pick<Client, 'query'>, fragment: SqlFragment, name: string) {
  const { text, values } = fragment.toQuery();
  await client.query('begin');
  const explained = await client.query<{ 'QUERY PLAN': { Plan: ExecutedPlan }[] }>(
    `explain (analyze, format json) ${text}`,
    values,
  );
  await client.query('rollback');
  const plans = explained.rows.flatMap((row) => row['QUERY PLAN']);
  return {
    read: plans.reduce((sum, { Plan }) => sum + rowsRead(Plan, name), 0),
    rows: (await client.query<Record<string, unknown>>(text, values)).rows,
  };
}

describe('lists of 60,000 users', () => {
  let database: FilledDatabase;
  let client: Client;

  beforeAll(async () => {
    database = await FilledDatabase.create(60_000);
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

  describe('by their plans', () => {
    it('use the index of the field for each selective value', async () => {
      const plans = await table(everything, [...filters, ...searches]);
      expect(wholeTables({ ...plans, ...(await table(everything, middling)) }, '', common)).toEqual([]);
      for (const [query, own] of Object.entries(plans))
        expect([query, own.join('\n')]).toEqual([query, expect.stringMatching(indexOf(query))]);
    });

    it('use an index for each sort in both directions, including the next page', async () => {
      const plans = await table(everything, sorts);
      expect(wholeTables(plans)).toEqual([]);
      expect(sorting(plans)).toEqual([]);
      for (const [sort, own] of Object.entries(plans))
        for (const plan of own) expect([sort, plan]).toEqual([sort, expect.stringContaining(indexOfSort(sort))]);
    });

    it.each(['carrier', 'scope'] as const)('use an index within %s', async (caller) => {
      const others = ['q=zuse.1234', 'q=ada', 'role=carrier_administrator', 'status=invited', 'deleted=true'];
      const plans = await table(callers[caller], [...sorts, ...others]);
      expect(wholeTables(plans)).toEqual([]);
      for (const [query, [first]] of Object.entries(plans))
        expect([query, first]).toEqual([
          query,
          expect.stringMatching(/users_carrier_id_|user_search_trigrams|users_(deleted_at|purge)_idx/),
        ]);
    });

    it('use the partial index for deleted users', async () => {
      const queries = ['', ...sorts.map((sort) => `&${sort}`), '&q=zuse.1234'].map((query) => `deleted=true${query}`);
      const plans = await table(everything, queries);
      expect(wholeTables(plans)).toEqual([]);
      for (const [query, [first]] of Object.entries(plans)) {
        const other = query.includes('q=') ? trigrams : indexOfSort(query);
        const wanted = expect.stringMatching(`users_(deleted_at|purge)_idx|${other}`);
        expect([query, first]).toEqual([query, wanted]);
      }
    });

    it('treat two hundred wildcards in a search as characters and use an index (B11)', async () => {
      const wild = ['%25_'.repeat(100), '%25'.repeat(200), '_'.repeat(200), '%5C%25'.repeat(50)];
      const queries = wild.flatMap((text) => [`q=${text}`, `name_like=${text}`, `last_name_like=${text}`]);
      expect(wholeTables(await table(everything, queries))).toEqual([]);
      const search = (q: string) => repositoryOf([]).list(everything, userListQuery({ q }));
      expect((await search('zuse%')).items).toEqual([]);
      expect((await search('zuse')).items.length).toBeGreaterThan(0);
    });

    it('send the same number of queries for 500 users as for one, three at most (B21)', async () => {
      for (const query of ['order_by=name', 'status=active', 'q=zuse', 'order_by=last_login_at'])
        for (const caller of [everything, callers.carrier]) {
          const plans = await table(caller, [`${query}&per_page=1`, `${query}&per_page=500`]);
          const [one = [], many = []] = Object.values(plans);
          expect(many.length).toBeLessThanOrEqual(one.length);
          expect(one.length).toBeLessThanOrEqual(3);
        }
    });

    it('estimate the total of a long list once per caller, and count a shorter one each time', async () => {
      const plans: string[] = [];
      const repository = repositoryOf(plans);
      const query = jest.spyOn(client, 'query');
      const asked = async (caller: Actor, filter: Record<string, string>) => {
        const before = plans.length;
        query.mockClear();
        await repository.list(caller, userListQuery(filter));
        const planner = query.mock.calls.filter(([text]) => /^\s*explain \(format json\)\s/.test(String(text))).length;
        return { planner, table: plans.length - before };
      };
      const long = { role: 'carrier_user' };
      expect(await asked(everything, long)).toEqual({ planner: 1, table: 1 });
      expect(await asked(everything, { ...long, order_by: 'name' })).toEqual({ planner: 0, table: 1 });
      expect(await asked(callers.carrier, long)).toEqual({ planner: 1, table: 2 });
      for (let again = 0; again < 2; again++)
        expect(await asked(everything, { status: 'invited' })).toEqual({ planner: 1, table: 2 });
      query.mockRestore();
    });

    it('count the users of a carrier by an index alone', async () => {
      const { rows } = await client.query(`
        explain select count(*) filter (where status = 'active')
        from users
        where carrier_id = 'carrier-180' and deleted_at is null`);
      expect(JSON.stringify(rows)).toContain('Index Only Scan using users_carrier_id_status_idx');
    });

    it('detect a sequential scan', async () => {
      await client.query('begin; drop index user_search_trigrams_idx; set local enable_indexscan = off');
      const plans = await table(everything, ['q=zuse.1234']);
      await client.query('rollback');
      expect(wholeTables(plans)).toHaveLength(1);
    });
  });

  describe('by their pages', () => {
    const visible = {
      everything: 'true',
      carrier: `carrier_id = 'carrier-180'`,
      scope: `carrier_id in ('carrier-180', 'carrier-190')`,
    };
    beforeAll(async () => {
      // `spread` has 3,000 users, `oldest` has 800, `scarce` has 30.
      for (const [role, which] of [
        ['spread', 'number % 20 = 3'],
        ['oldest', 'number <= 800'],
        ['scarce', 'number % 2000 = 7'],
      ])
        await client.query(`
          update users set roles = roles || '{${role}}'
          from (select user_id as id, row_number() over (order by created_at) as number from users) numbered
          where id = user_id and ${which}`);
      await client.query('vacuum analyze users');
    });

    const idsOf = (rows: { user_id: string }[]) => rows.map(({ user_id }) => user_id);
    /** Returns the ids of all pages, by cursor. */
    const walk = async (caller: Actor, query: Record<string, string>) => {
      const ids: string[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const after: Record<string, string> = cursor === '' ? {} : { cursor };
        const parsed = userListQuery({ per_page: '500', count: 'none', ...query, ...after });
        const page = await repositoryOf([]).list(caller, parsed);
        ids.push(...idsOf(page.items));
        cursor = page.next_cursor;
      }
      return ids;
    };
    const expected = async (where: string, order: string) => {
      const { rows } = await client.query<{ user_id: string }>(
        `select user_id from users where deleted_at is null and ${where} order by ${order}`,
      );
      return idsOf(rows);
    };
    /** Returns the plans of a list without its total. */
    const plansOf = async (query: Record<string, string>) => {
      const plans: string[] = [];
      await repositoryOf(plans).list(everything, userListQuery({ ...query, count: 'none' }));
      return plans;
    };

    it.each(['everything', 'carrier', 'scope'] as const)('show each user with a role once within %s', async (scope) => {
      for (const role of ['spread', 'oldest', 'scarce'])
        for (const direction of ['asc', 'desc']) {
          const order = `created_at ${direction}, user_id ${direction}`;
          const ids = await expected(`roles @> '{${role}}' and ${visible[scope]}`, order);
          expect(await walk(callers[scope], { role, order_dir: direction })).toEqual(ids);
        }
    });

    it('read the first page of a frequent role in order, and find the users of others first', async () => {
      expect(await plansOf({ role: 'spread' })).toEqual([expect.stringContaining('users_created_at_idx')]);
      // In the order of the list, the other 59,200 users come first.
      for (const role of ['oldest', 'scarce'])
        expect(await plansOf({ role })).toEqual([expect.stringContaining('sort users_roles_idx')]);
    });

    it('read few rows beyond the page, although it is planned for ten times as many', async () => {
      const reads: number[] = [];
      const run = async (fragment: SqlFragment) => {
        const { read, rows } = await runCounting(client, fragment, 'users');
        reads.push(read);
        return rows;
      };
      const queries = { run, runPrepared: run, estimates: new Map<string, number>() };
      const repository = new UsersRepository({ ...queries, answers: queries } as unknown as Database);
      for (const order_by of ['created_at', 'name', 'last_login_at'])
        await repository.list(everything, userListQuery({ user_type: 'carrier', order_by, count: 'none' }));
      const { rows } = await client.query<{ server_version_num: string }>('show server_version_num');
      const knowsOrderOfCte = Number(rows[0]?.server_version_num) >= 170_000;
      // An incremental sort reads at least 65 rows. The page is read again by its 51 ids.
      expect(Math.max(...reads)).toBeLessThanOrEqual((knowsOrderOfCte ? 65 : 510) + 51);
    });

    it.each(['created_at', 'updated_at', 'last_login_at', 'status', 'carrier_id', 'last_name'])(
      'return any page by number, by %s',
      async (sort) => {
        const key = sort === 'last_name' ? 'lower(last_name)' : sort;
        const ids = await expected('true', `${key} desc nulls last, user_id desc`);
        const last = Math.ceil(ids.length / 50);
        for (const page of [1, 561, last, last + 1]) {
          const query = { order_by: sort, page: String(page), count: 'none' };
          const { items } = await repositoryOf([]).list(everything, userListQuery(query));
          expect([page, idsOf(items)]).toEqual([page, ids.slice((page - 1) * 50, page * 50)]);
        }
      },
    );

    it('skip the rows before a page by an index alone', async () => {
      for (const order_by of ['created_at', 'updated_at', 'status'])
        expect(await plansOf({ order_by, page: '500' })).toEqual([
          expect.stringContaining('ids of users sort users_pkey'),
        ]);
    });
  });
});

/**
 * The statistics were collected while all users were deleted, and most users were restored since.
 */
describe('plans on statistics from before most users were restored', () => {
  const [many, back] = [3_000, 2_000];
  const database = useDatabase();
  beforeAll(async () => {
    const rows = async <Row>(text: string, values?: unknown[]) => (await database.query(text, values)).rows as Row[];
    await addManyUsers({ rows }, many, 'many');
    await database.query('update users set deleted_at = now()');
    await database.query('vacuum analyze users');
    await database.query(`update users set deleted_at = null where (attributes ->> 'number')::integer <= ${back}`);
  });

  const someIds = async () => {
    const { rows } = await database.query<{ user_id: string }>(
      `select user_id from users where (attributes ->> 'number')::integer % 100 = 1`,
    );
    return rows.map(({ user_id }) => user_id);
  };

  it.each(['name', 'email'] as const)('look up each %s individually', async (column) => {
    const taken = isTaken(column, rawSql('row.value'));
    const query = sql`select count(*)::integer as asked, count(*) filter (where ${taken})::integer as taken
      from unnest(array(select upper(${rawSql(column)}) from users)) as row (value)`;
    const { rows, read } = await runCounting(database, query, 'other');
    expect(rows).toEqual([{ asked: many, taken: back }]);
    // The plan contains rounded averages.
    expect(read).toBeLessThan(2 * back);
  });

  const actions: UserAction[] = [
    { kind: 'change', change: { timezone: 'Europe/Vienna' } },
    { kind: 'change', change: { roles: [] } },
    { kind: 'delete' },
  ];
  it.each(actions)('look up the users of $kind $change by their ids', async (action) => {
    const ids = await someIds();
    const grants = { forbidden: [], open_to_system: [], open_to_carrier: [] };
    const query = applyActionSql(systemActor, { action, grants }, ids, eventBase(systemActor, 'user.changed'));
    const { read, rows } = await runCounting(database, query, 'users');
    expect(read).toBeLessThan(4 * ids.length);
    expect(rows[0]?.['changed_ids']).toHaveLength(back / 100);
  });

  it('look up the values of an undo by the users of its batch', async () => {
    const add = (operation_id: string) =>
      database.query(
        `insert into events (event_type, actor_type, target_type, target_id, target_version, operation_id, changes)
        select 'user.changed', 'system', 'user', user_id, 1, $1, '{"locale": {"before": "fr"}}' from users`,
        [operation_id],
      );
    for (const other of ['1', '2', '3']) await add(`018f0000-0000-7000-8000-00000000000${other}`);
    await database.query('analyze events');
    const ids = await someIds();
    const unknown = '018f0000-0000-7000-8000-000000000004';
    await add(unknown);
    const times = { began_at: new Date(), ended_at: new Date() };
    const undo = { kind: 'undo' as const, operation_id: unknown, times, restores: false };
    const query = sql`select restored.locale from users ${beforeOperationJoins(undo)}
      where users.user_id = any(${ids}::uuid[])`;
    const { rows, read } = await runCounting(database, query, 'events');
    expect(rows).toEqual(Array<object>(many / 100).fill({ locale: 'fr' }));
    expect(read).toBeLessThan(many / 50);
  });
});
