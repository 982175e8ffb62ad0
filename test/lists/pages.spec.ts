import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Client } from 'pg';
import { dataSourceOptions } from '../../src/platform/database/data-source';
import { TestService } from '../support/service';
import { changeSession } from '../support/data/session-rows';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const sorts = [
  ...['created_at', 'updated_at', 'name', 'email', 'last_name', 'last_login_at', 'last_seen_at', 'status'],
  'carrier_id',
];
const time = fc.constantFrom('2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.001Z', '2026-06-01T12:00:00.000Z');
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 2 });

/** Few distinct values, so that the id decides most of the order. */
const draft = fc.record({
  last_name: fc.constantFrom('', 'a', 'A', 'ä', 'b'),
  carrier_id: orNull(fc.constantFrom('c1', 'c2', 'C1')),
  status: fc.constantFrom('invited', 'active', 'disabled'),
  created_at: time,
  updated_at: time,
  last_login_at: orNull(time),
  last_seen_at: orNull(time),
});
const filters = ['', 'status_ne=disabled', 'q=walk', 'name_like=WALK-', 'locale_isnull=true', 'user_type=carrier'];
const walk = fc.record({
  sort: fc.constantFrom(...sorts),
  direction: fc.constantFrom('asc', 'desc'),
  per_page: fc.integer({ min: 1, max: 7 }),
  filter: fc.constantFrom(...filters),
});

const times: [time: string | null, answered: string | null][] = [
  ['2026-03-29 01:30:00+00', '2026-03-29T01:30:00.000Z'],
  ['2026-11-20 13:00:00.1+00', '2026-11-20T13:00:00.100Z'],
  ['2026-11-20 13:00:00.007+00', '2026-11-20T13:00:00.007Z'],
  ['9999-12-31 23:59:59.999+00', '9999-12-31T23:59:59.999Z'],
  ['12026-01-02 03:04:05.678+00', '+012026-01-02T03:04:05.678Z'],
  ['0001-01-01 12:00:00+00', '0001-01-01T12:00:00.000Z'],
  ['0044-03-15 12:00:00+00 BC', '-000043-03-15T12:00:00.000Z'],
  ['1850-06-01 00:00:00.5+00', '1850-06-01T00:00:00.500Z'],
  ['infinity', null],
  [null, null],
];

interface Listed {
  user_id: string;
  name: string;
}

/**
 * The database has another time zone, with half hours, daylight saving time, and seconds before
 * 1884. Connections behind a pooler do not set a time zone and use that of the database.
 */
describe('pages of lists', () => {
  let database: TestDatabase;
  let service: TestService;
  beforeAll(async () => {
    database = await createTestDatabase();
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(`alter database "${new URL(database.url).pathname.slice(1)}" set timezone = 'America/St_Johns'`);
    await client.end();
    const DATABASE_DIRECT_URL = `${database.url}?application_name=direct`;
    service = await TestService.start({ DATABASE_URL: database.url, DATABASE_DIRECT_URL });
    // Activity recorded by the requests of the walk must not change the caller.
    await service.rows(`update sessions set last_seen_at = now() + interval '1 hour'`);
  });
  afterAll(async () => {
    await service.close();
    await database.drop();
  });

  const get = (path: string, query: string) => service.get(`${path}?${query}`, service.admin);
  const removeOthers = () => service.rows('delete from users where user_id <> $1', [service.admin.user_id]);
  const idsOf = (items: Listed[]) => items.map(({ user_id }) => user_id);

  async function add(prefix: string, drafts: object[]): Promise<string[]> {
    const users = drafts.map((fields, index) => ({ ...fields, user_id: randomUUID(), name: `${prefix}-${index}` }));
    await service.rows(
      `
        insert into users (
          user_id, user_type, name, email, last_name, carrier_id, status, created_at, updated_at, last_login_at,
          last_seen_at
        )
        select
          user_id, case when carrier_id is null then 'system' else 'carrier' end, name, name || '@example.com',
          last_name, carrier_id, status, created_at, updated_at, last_login_at, last_seen_at
        from jsonb_populate_recordset(null::users, $1)`,
      [JSON.stringify(users)],
    );
    return users.map(({ user_id }) => user_id);
  }

  /** Reads all pages by cursor or number, and runs other changes before each. */
  async function met(query: string, numbered = false, meanwhile?: (page: number) => Promise<void>): Promise<Listed[]> {
    const items: Listed[] = [];
    let next = '';
    for (let page = 1; ; page++) {
      await meanwhile?.(page);
      const { status, body, text } = await get('/user/list', `${query}${numbered ? `&page=${page}` : next}`);
      if (status !== 200) throw new Error(`${query}: ${text}`);
      items.push(...body.items);
      if (numbered ? body.items.length === 0 : body.next_cursor === null) return items;
      next = `&cursor=${body.next_cursor}`;
    }
  }

  it.each(['/user/list', '/auth/session/list', '/audit/list'])(
    'of %s are limited in size and depth (B12)',
    async (path) => {
      for (const query of ['per_page=0', 'per_page=501', 'per_page=10abc', 'page=0', 'page=-1', 'page='])
        expect([query, (await get(path, query)).status]).toEqual([query, 400]);
      expect((await get(path, 'page=201&per_page=500')).body.code).toBe('page.too_deep');
      expect((await get(path, 'page=200&per_page=500')).status).toBe(200);
    },
  );

  it('are found by a cursor of the same caller, filter, sort and list only (B12)', async () => {
    for (let n = 0; n < 3; n++) await service.createUser({ password: undefined });
    const query = 'per_page=2&order_by=last_name&carrier_id=c1';
    const cursor = String((await get('/user/list', query)).body.next_cursor);
    expect((await get('/user/list', `${query}&cursor=${cursor}`)).status).toBe(200);
    const others = ['carrier_id=c1', 'order_by=last_name', query.replace('c1', 'c2'), `${query}&deleted=true`];
    for (const other of [...others, `${query}&order_dir=asc`])
      expect([other, (await get('/user/list', `${other}&cursor=${cursor}`)).body.code]).toEqual([
        ...[other, 'page.cursor_invalid'],
      ]);
    const another = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    expect((await service.get(`/user/list?${query}&cursor=${cursor}`, another)).body.code).toBe('page.cursor_invalid');
    const sessions = String((await get('/auth/session/list', 'per_page=1')).body.next_cursor);
    expect((await get('/audit/list', `per_page=1&cursor=${sessions}`)).body.code).toBe('page.cursor_invalid');
    const both = await get('/user/list', `${query}&cursor=${cursor}&page=1`);
    expect(both.body.errors[0].code).toBe('parameter.conflict');
  });

  it('contain each unchanged user exactly once during concurrent changes (B13)', async () => {
    const property = fc.asyncProperty(
      fc.array(draft, { minLength: 5, maxLength: 30 }),
      fc.array(draft, { minLength: 12, maxLength: 12 }),
      fc.array(walk, { minLength: 3, maxLength: 3 }),
      async (quiet, busy, walks) => {
        await removeOthers();
        const still = await add('walk-still', quiet);
        const moving = await add('walk-busy', busy);
        const unchanged = (items: Listed[]) => idsOf(items).filter((user_id) => still.includes(user_id));
        for (const { sort, direction, per_page, filter } of walks) {
          const query = `order_by=${sort}&order_dir=${direction}${filter === '' ? '' : `&${filter}`}`;
          const others = async (page: number) => {
            const change = busy[page % busy.length] as (typeof busy)[number];
            await service.rows(
              `
                with
                changed as (
                  update users set last_name = $2, status = $3, updated_at = $4 where user_id = $1
                ),
                logged_in as (
                  update user_logins set last_login_at = $5 where user_id = $1
                )
                update user_seen set last_seen_at = $6 where user_id = $1`,
              [
                ...[moving[page % moving.length], change.last_name, change.status, change.updated_at],
                ...[change.last_login_at, change.last_seen_at],
              ],
            );
            if (page % 3 === 0) await add(`walk-new-${randomUUID()}`, [change]);
          };
          const wanted = unchanged((await get('/user/list', `${query}&per_page=500`)).body.items);
          const seen = unchanged(await met(`${query}&per_page=${per_page}`, false, others));
          expect([query, per_page, seen]).toEqual([query, per_page, wanted]);
        }
      },
    );
    await fc.assert(property, { numRuns: 5, endOnFailure: true });
  });

  it('by number have the order of the whole list for every sort, including nulls (B13)', async () => {
    await removeOthers();
    const at = '2026-01-01T00:00:00Z';
    const users = Array.from({ length: 23 }, (_, index) => ({
      ...{ last_name: '', carrier_id: index % 3 === 0 ? null : 'c1', status: 'active', created_at: at, updated_at: at },
      last_login_at: index % 2 === 0 ? null : at,
      last_seen_at: index % 4 === 0 ? `2026-01-0${1 + (index % 7)}T00:00:00Z` : null,
    }));
    await add('walk-page', users);
    for (const sort of sorts)
      for (const direction of ['asc', 'desc']) {
        const query = `order_by=${sort}&order_dir=${direction}&q=walk`;
        const { body } = await get('/user/list', `${query}&per_page=500`);
        expect(body.items).toHaveLength(23);
        const numbered = await met(`${query}&per_page=5`, true);
        expect([query, idsOf(numbered)]).toEqual([query, idsOf(body.items)]);
      }
    for (const [page, items] of [
      [1, 10],
      [3, 3],
      [4, 0],
    ]) {
      const { body } = await get('/user/list', `q=walk&order_by=last_login_at&per_page=10&page=${page}`);
      expect([page, body.items.length, body.total]).toEqual([page, items, { value: 23, relation: 'eq' }]);
    }
  });

  it('contain each of 1,007 users with the same value exactly once (B13)', async () => {
    await service.rows(`
      insert into users (user_id, user_type, name, email, first_name, last_name, carrier_id, status, created_at)
      select
        gen_random_uuid(), 'carrier', 'crowd' || n, 'crowd' || n || '@example.com', 'C', 'Smith', 'c' || n % 3,
        'active', '2026-01-01'
      from generate_series(1, 1007) n`);
    await service.rows('analyze users');
    const wanted = idsOf(await service.rows<Listed>(`select user_id from users where last_name = 'Smith'`)).sort();
    for (const sort of ['last_name', 'created_at', 'last_login_at', 'status']) {
      const ids = idsOf(await met(`last_name=Smith&per_page=50&count=none&order_by=${sort}`));
      expect([sort, ids.length]).toEqual([sort, 1_007]);
      expect(ids.sort()).toEqual(wanted);
    }
  });

  /** Not validated against the document, which allows only four-digit years. */
  const getText = async (url: string) => {
    const headers = { authorization: `Bearer ${service.admin.token}` };
    const { body } = await service.inject({ url, headers });
    return { text: body, body: JSON.parse(body) };
  };

  it.each(times)('show the time %s as a single user does', async (time, answered) => {
    const { user_id } = await service.createUser({ password: undefined });
    await service.rows(
      `with logged_in as (update user_logins set last_login_at = $2 where user_id = $1)
      update users set email_verified_at = $2, locked_until = $2 where user_id = $1`,
      [user_id, time],
    );
    const one = await getText(`/user/${user_id}`);
    expect(one.body).toMatchObject({ email_verified_at: answered, last_login_at: answered, locked_until: answered });
    for (const query of ['', 'order_by=last_login_at&'])
      expect((await getText(`/user/list?${query}user_id=${user_id}`)).text).toContain(one.text);
  });

  it('show the right times of an expired session and of events', async () => {
    const session = await service.loginAs();
    await changeSession(service, session, `expires_at = '2026-01-02 03:04:05.06+00'`);
    const at = '2026-01-02T03:04:05.060Z';
    const { body } = await getText(`/auth/session/list?session_id=${session.session_id}`);
    expect(body.items).toMatchObject([{ expires_at: at, ended_at: at, ended_reason: 'expired', active: false }]);
    const rows = await service.rows<Record<string, unknown>>('select event_id, occurred_at from events');
    const { items } = (await getText('/audit/list?per_page=500')).body;
    const answered = items.map(({ event_id, occurred_at }: Record<string, string>) => ({ event_id, occurred_at }));
    expect(answered).toEqual(expect.arrayContaining(JSON.parse(JSON.stringify(rows))));
  });

  it('read times in UTC on direct connections', async () => {
    const { extra } = dataSourceOptions({ url: database.url, poolMax: 1, purpose: 'requests' }) as {
      extra: { options: string };
    };
    const { options } = extra;
    const client = new Client({ connectionString: database.url, options });
    await client.connect();
    const { rows } = await client.query('show timezone').finally(() => client.end());
    expect(rows).toEqual([{ TimeZone: 'UTC' }]);
  });
});
