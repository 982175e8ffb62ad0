import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { TestService } from '../support/service';

const sorts = [
  'created_at',
  'updated_at',
  'name',
  'email',
  'last_name',
  'last_login_at',
  'last_seen_at',
  'status',
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
const walk = fc.record({
  sort: fc.constantFrom(...sorts),
  direction: fc.constantFrom('asc', 'desc'),
  per_page: fc.integer({ min: 1, max: 7 }),
  filter: fc.constantFrom(
    '',
    'status_ne=disabled',
    'q=walk',
    'name_like=WALK-',
    'locale_isnull=true',
    'user_type=carrier',
  ),
});

interface Listed {
  user_id: string;
  name: string;
}

describe('a walk through all pages', () => {
  let service: TestService;
  let admin: string;

  beforeAll(async () => {
    service = await TestService.start();
    ({ token: admin } = service.admin);
    // Activity recorded by the requests of the walk must not change the caller.
    await service.rows(`update sessions set last_seen_at = now() + interval '1 hour'`);
  });
  afterAll(() => service.close());

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
  async function met(
    query: string,
    per_page: number,
    numbered: boolean,
    meanwhile: (page: number) => Promise<void>,
  ): Promise<Listed[]> {
    const items: Listed[] = [];
    let next = '';
    for (let page = 1; ; page++) {
      await meanwhile(page);
      const place = numbered ? `&page=${page}` : next;
      const { status, body, text } = await service.get(`/user/list?${query}&per_page=${per_page}${place}`, {
        token: admin,
      });
      if (status !== 200) throw new Error(`${query}${place}: ${text}`);
      items.push(...body.items);
      if (numbered ? body.items.length === 0 : body.next_cursor === null) return items;
      next = `&cursor=${body.next_cursor}`;
    }
  }

  it('visits each unchanged user exactly once during concurrent changes (B13)', async () => {
    const property = fc.asyncProperty(
      fc.array(draft, { minLength: 5, maxLength: 30 }),
      fc.array(draft, { minLength: 12, maxLength: 12 }),
      fc.array(walk, { minLength: 3, maxLength: 3 }),
      async (quiet, busy, walks) => {
        await service.rows('delete from users where user_id <> $1', [service.admin.user_id]);
        const still = await add('walk-still', quiet);
        const moving = await add('walk-busy', busy);
        let added = 0;
        for (const { sort, direction, per_page, filter } of walks) {
          const query = `order_by=${sort}&order_dir=${direction}${filter === '' ? '' : `&${filter}`}`;
          const order = async () =>
            (await service.get(`/user/list?${query}&per_page=500&count=exact`, { token: admin })).body;
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
                moving[page % moving.length],
                change.last_name,
                change.status,
                change.updated_at,
                change.last_login_at,
                change.last_seen_at,
              ],
            );
            if (page % 3 === 0) await add(`walk-new-${randomUUID().slice(0, 8)}-${added++}`, [change]);
          };
          const before = (await order()).items as Listed[];
          const wanted = before.map(({ user_id }) => user_id).filter((user_id) => still.includes(user_id));
          const seen = (await met(query, per_page, false, others))
            .map(({ user_id }) => user_id)
            .filter((user_id) => still.includes(user_id));
          expect([query, per_page, seen]).toEqual([query, per_page, wanted]);
        }
      },
    );
    await fc.assert(property, { numRuns: 12, endOnFailure: true });
  });

  it('visits every user in the same order by page number, including nulls (B13)', async () => {
    await service.rows('delete from users where user_id <> $1', [service.admin.user_id]);
    await add(
      'walk-page',
      Array.from({ length: 23 }, (_, index) => ({
        ...{
          last_name: '',
          carrier_id: index % 3 === 0 ? null : 'c1',
          status: 'active',
          created_at: '2026-01-01T00:00:00Z',
          updated_at: '2026-01-01T00:00:00Z',
        },
        ...{
          last_login_at: index % 2 === 0 ? null : '2026-01-01T00:00:00Z',
          last_seen_at: index % 4 === 0 ? `2026-01-0${1 + (index % 7)}T00:00:00Z` : null,
        },
      })),
    );
    for (const sort of sorts)
      for (const direction of ['asc', 'desc'])
        for (const per_page of [1, 5, 8]) {
          const query = `order_by=${sort}&order_dir=${direction}&q=walk`;
          const { body } = await service.get(`/user/list?${query}&per_page=500`, { token: admin });
          const numbered = await met(query, per_page, true, () => Promise.resolve());
          expect([query, per_page, numbered.map(({ name }) => name)]).toEqual([
            query,
            per_page,
            body.items.map(({ name }: Listed) => name),
          ]);
        }
  });

  it('reports the total on every page, including the last', async () => {
    for (const [page, items] of [
      [1, 10],
      [2, 10],
      [3, 3],
      [4, 0],
    ]) {
      const { body } = await service.get(`/user/list?q=walk&order_by=last_login_at&per_page=10&page=${page}`, {
        token: admin,
      });
      expect([page, body.items.length, body.total]).toEqual([page, items, { value: 23, relation: 'eq' }]);
    }
  });
});
