import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { type TestLogin, TestService } from '../support/service';
import {
  filters,
  isSorted,
  meets,
  type ModelUser,
  modelUser,
  needsDeleted,
  question,
  sorts,
  valueFor,
} from '../support/user-model';

describe('lists, counts, previews and page walks against a plain model', () => {
  let service: TestService;
  let callers: { login: TestLogin; carrier_id: string | null; row: ModelUser }[];

  beforeAll(async () => {
    service = await TestService.start();
    const logins = [service.admin, await service.loginAs({ carrier_id: 'c1', roles: ['carrier_administrator'] })];
    // The model contains the callers, so recorded activity must not change them.
    await service.rows(`update sessions set last_seen_at = now() + interval '1 hour'`);
    await service.rows(`update user_seen set last_seen_at = '2026-01-01'`);
    await service.rows(`insert into roles (name, user_types, permissions, second_factor_required_from)
      values ('other', '{system,carrier}', '{}', '2026-01-01')`);
    callers = [];
    for (const login of logins) {
      const row = (await service.get(`/user/${login.user_id}`, service.admin)).body;
      callers.push({ login, carrier_id: row.carrier_id, row });
    }
  });
  afterAll(() => service.close());

  /** Replaces all users except the callers. */
  async function fill(drafts: (typeof modelUser extends fc.Arbitrary<infer T> ? T : never)[]): Promise<ModelUser[]> {
    const users = drafts.map(({ prefix, ...draft }, index) => ({
      ...draft,
      user_id: randomUUID(),
      name: `${prefix}${index}`,
      email: `${prefix}${index}@example.com`,
      last_seen_at: draft.last_seen_at === 'now' ? new Date().toISOString() : draft.last_seen_at,
    }));
    await service.rows('delete from users where user_id <> all($1)', [callers.map(({ row }) => row.user_id)]);
    const columns = [...Object.keys(users[0] ?? { user_id: '' }), 'allowed_ips', 'version'].join();
    const rows = users.map((user) => ({ ...user, allowed_ips: [], version: 1 }));
    await service.rows(
      `insert into users (${columns}) select ${columns} from jsonb_populate_recordset(null::users, $1)`,
      [JSON.stringify(rows)],
    );
    return [...users, ...callers.map(({ row }) => row)];
  }

  /** Reads all pages. */
  async function walk(query: string, login: TestLogin): Promise<string[]> {
    const met: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const {
        status,
        body,
        text: answer,
      } = await service.get(`/user/list?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`, login);
      if (status !== 200) throw new Error(`${query}: ${answer}`);
      met.push(...body.items.map(({ user_id }: ModelUser) => user_id));
      cursor = body.next_cursor;
    }
    return met;
  }

  it('finds a user by a number in the attributes, as PostgreSQL prints the number', async () => {
    const numbers = [0, -1, 1.5, 1e15, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, '0012345678901234567'];
    for (const number of numbers) {
      const { user_id } = await service.createUser({ attributes: { number } });
      const [{ shown } = { shown: '' }] = await service.rows<{ shown: string }>(
        `select attributes ->> 'number' as shown from users where user_id = $1`,
        [user_id],
      );
      const { body } = await service.get(`/user/list?attributes.number=${shown}`, service.admin);
      expect([shown, body.items.map((item: ModelUser) => item.user_id)]).toEqual([shown, [user_id]]);
    }
  });

  it('finds a user by changed values and no longer by earlier ones', async () => {
    const { user_id } = await service.createUser({
      first_name: 'Before',
      phone: '+4312000000',
      job_title: 'Old title',
      locale: 'de',
    });
    const change = { first_name: 'After', phone: '+4399999999', job_title: 'New title', locale: 'fr' };
    expect((await service.patch(`/user/${user_id}`, { token: service.admin.token, body: change })).status).toBe(200);
    const counts: unknown[] = [];
    for (const query of [
      'q=after',
      'first_name=After',
      'phone_like=99999',
      'q=new+title',
      'job_title_like=ew ti',
      'last_name_like=title',
      'locale=fr',
      'q=before',
      'first_name=Before',
      'phone_like=12000000',
      'q=old+title',
      'job_title=Old title',
    ])
      counts.push((await service.get(`/user/list?${query}`, service.admin)).body.items.length);
    expect(counts).toEqual([1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0]);
  });

  it('finds the same users by each parameter alone', async () => {
    const found: string[] = [];
    const seedsOfAll = fc.sample(fc.array(fc.noBias(fc.nat()), { minLength: 6, maxLength: 6 }), {
      seed: 12,
      numRuns: 20,
    });
    const drafts = fc.sample(modelUser, { seed: 9, numRuns: 120 });
    const users = await fill(drafts);
    for (const parameter of filters)
      for (const [index, seeds] of seedsOfAll.entries()) {
        const value = valueFor({ parameter, seeds }, users);
        const sort = sorts[index % sorts.length] ?? '';
        const deleted = needsDeleted([parameter, sort]);
        const wanted = users
          .filter((user) => (user.deleted_at !== null) === deleted && meets(user, parameter, value))
          .map(({ user_id }) => user_id);
        const state = deleted ? '&deleted=true' : '';
        const query = `${parameter}=${encodeURIComponent(value)}&count=exact&per_page=500&order_by=${sort}${state}`;
        const { body } = await service.get(`/user/list?${query}`, service.admin);
        expect([query, body.items.map(({ user_id }: ModelUser) => user_id).sort()]).toEqual([query, wanted.sort()]);
        if (wanted.length > 0) found.push(parameter);
        if (index > 5 && found.includes(parameter)) break;
      }
    // Control: each parameter matches a user.
    expect(filters.filter((parameter) => !found.includes(parameter))).toEqual([]);
  });

  it('finds the same users by combined parameters', async () => {
    let met = 0;
    const property = fc.asyncProperty(
      fc.array(modelUser, { minLength: 1, maxLength: 25 }),
      fc.array(question, { minLength: 4, maxLength: 4 }),
      async (drafts, questions) => {
        const users = await fill(drafts);
        for (const { conditions, sort, direction, per_page, deleted } of questions) {
          const asked = conditions.map((one) => [one.parameter, valueFor(one, users)] as const);
          const query = asked.map(([parameter, value]) => `${parameter}=${encodeURIComponent(value)}`);
          for (const { login, carrier_id } of callers) {
            const visible = users.filter((user) => carrier_id === null || user.carrier_id === carrier_id);
            const found = visible.filter((user) => asked.every(([parameter, value]) => meets(user, parameter, value)));
            const wanted = found
              .filter(({ deleted_at }) => (deleted_at !== null) === deleted)
              .map(({ user_id }) => user_id)
              .sort();
            met += wanted.length;
            const parts = [...query, ...(deleted ? ['deleted=true'] : [])];
            const whole = await service.get(
              `/user/list?count=exact&per_page=500&order_by=${sort}&order_dir=${direction}&${parts.join('&')}`,
              login,
            );
            const order: string[] = whole.body.items.map(({ user_id }: ModelUser) => user_id);
            expect([parts, [...order].sort()]).toEqual([parts, wanted]);
            expect([parts, whole.body.total]).toEqual([parts, { value: wanted.length, relation: 'eq' }]);
            expect(isSorted(whole.body.items, sort, direction)).toBe(true);
            const walked = await walk(
              [...parts, 'count=none', `per_page=${per_page}`, `order_by=${sort}`, `order_dir=${direction}`].join('&'),
              login,
            );
            expect([parts, sort, direction, walked]).toEqual([parts, sort, direction, order]);
            if (deleted) continue;
            const preview = await service.delete(
              `/user/all?${[...(query.length === 0 ? ['everyone=true'] : query), 'dry_run=true'].join('&')}`,
              login,
            );
            expect([parts, preview.body.matched]).toEqual([parts, wanted.length]);
          }
        }
      },
    );
    await fc.assert(property, { numRuns: 25, endOnFailure: true });
    // Control: the questions match users.
    expect(met).toBeGreaterThan(30);
  });
});
