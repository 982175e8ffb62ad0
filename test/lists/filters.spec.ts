import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { document } from '../support/contract/document';
import { naughtyStrings } from '../support/contract/naughty-strings';
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
} from '../support/contract/user-model';

const lists = ['/user/list', '/auth/session/list', '/audit/list'];
const paging = ['order_by', 'order_dir', 'per_page', 'page', 'cursor', 'count', 'deleted'];
const injections = [
  ...["'", "''", '"', '\\', '`', "' or '1'='1", "' or 1=1--", '" or ""="', "') or ('1'='1", '1; select pg_sleep(3)--'],
  ...["'; drop table users; --", "' || pg_sleep(3) || '", "' and 1=(select 1 from pg_sleep(3))--", "%' or '%'='"],
  ...['$1', '$$;select 1$$', '${1}', ':name', '?', "\\'; --", "' union select password_hash from credentials--"],
  ...["'||(select version())||'", '/**/or/**/1=1', "E'\\x27'", "U&'\\0027'", 'null', '{}', '{"a":1}', "', now())--"],
  ...['1) or (1=1', 'array[1]', "x' or users.deleted_at is null or 'x'='", '\u02bc or 1=1--', '％＇', '-- ', '#'],
  ...["admin'--", "x' union select 1,2--", "x'); delete from users; --"],
];

interface ScalarSchema {
  type?: string;
  format?: string;
  enum?: string[];
}
interface Parameter {
  name: string;
  schema: ScalarSchema & { items?: ScalarSchema };
}

describe('filters of lists', () => {
  let service: TestService;
  let admin: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
  });
  afterAll(() => service.close());

  const get = (path: string, query: string) => service.get(`${path}?${query}`, admin);
  const found = async (query: string): Promise<string[]> =>
    (await get('/user/list', query)).body.items.map(({ user_id }: ModelUser) => user_id);

  describe('with hostile values', () => {
    it('take SQL and directory strings literally in every documented filter, and find nothing (B7, I16)', async () => {
      const texts = [...injections, ...(naughtyStrings['sql'] ?? []), ...(naughtyStrings['directories'] ?? [])];
      const count = () => service.rows('select count(*)::int, max(version) from users');
      const before = await count();
      let sent = 0;
      for (const path of lists)
        for (const { name, schema } of (document.paths[path]?.['get']?.parameters ?? []) as unknown as Parameter[]) {
          if (paging.includes(name)) continue;
          const { type, format, enum: values } = schema.items ?? schema;
          const free = type === 'string' && format === undefined && values === undefined;
          for (const text of texts.filter((_text, index) => (index + sent) % (free ? 20 : 40) === 0)) {
            const { status, body } = await get(path, `${name}=${encodeURIComponent(text)}&count=none&per_page=5`);
            expect([name, text, status === 400 || (free && status === 200)]).toEqual([name, text, true]);
            if (status === 200 && !name.endsWith('_ne')) expect([name, text, body.items]).toEqual([name, text, []]);
          }
          sent++;
        }
      expect(sent).toBeGreaterThan(150);
      expect(await count()).toEqual(before);
    });

    it('find by SQL in a value only the user of that name (B7)', async () => {
      const texts = injections.filter((text) => [...text.trim()].length >= 3);
      const ids = new Map<string, string>();
      for (const text of texts) {
        const { user_id } = await service.createUser({
          last_name: text,
          attributes: { key: text },
          password: undefined,
        });
        ids.set(text, user_id);
      }
      for (const [text, user_id] of ids) {
        const value = encodeURIComponent(text);
        expect([text, await found(`last_name=${value}`)]).toEqual([text, [user_id]]);
        expect([text, await found(`attributes.key=${value}`)]).toEqual([text, [user_id]]);
        const containing = texts.filter((other) => other.toLowerCase().includes(text.toLowerCase()));
        const wanted = containing.map((other) => ids.get(other));
        expect([text, (await found(`last_name_like=${value}`)).sort()]).toEqual([text, wanted.sort()]);
      }
    });

    it('reject SQL in names of parameters, sorts and directions (B7, B8)', async () => {
      for (const path of lists)
        for (const [name, value] of [
          ...["name'", 'users.name', 'name::text', 'lower(name)', "attributes.a'b"].map((one) => [one, '1'] as const),
          ['order_by', 'created_at) desc,(select 1'],
          ['order_by', 'password_hash'],
          ['order_dir', 'asc nulls first'],
        ] as const) {
          const { status, body } = await get(path, `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
          expect([path, name, status, body.errors[0].parameter]).toEqual([path, name, 400, name]);
        }
    });

    it('reject secrets as filter or sort (B9)', async () => {
      const secrets = [
        ...[
          'password',
          'password_hash',
          'token_hash',
          'refresh_token_hash',
          'mfa_secret',
          'private_key',
          'search_text',
        ],
        ...['email_pending', 'credentials.password_hash', 'version', 'may_grant', 'permissions', 'changes.email'],
      ];
      for (const name of secrets)
        for (const path of [...lists, '/user/all', '/auth/session/all']) {
          const method = path.endsWith('/all') ? 'DELETE' : 'GET';
          for (const filter of [name, `${name}_like`]) {
            const answer = await service.send(method, `${path}?${filter}=%24argon2id`, { token: admin.token });
            expect([path, filter, answer.body.errors?.[0].code]).toEqual([path, filter, 'parameter.unknown']);
          }
          if (method === 'GET') expect([name, (await get(path, `order_by=${name}`)).status]).toEqual([name, 400]);
        }
    });

    it('reject undocumented operators and nested parameters (B10, B23)', async () => {
      const odd = ['email[$like]=%25', 'email[]=a@b.cc', 'email[a][b][c][d][e]=1', 'email_regex=.*', 'OR=1'];
      const wrong = [
        'deleted_ne=true',
        'deleted=false',
        'online_gt=true',
        'user_id_gt=a',
        'q_ne=abc',
        'attributes.a.b=1',
      ];
      const deep = [
        `filter=${'('.repeat(5_000)}`,
        Array(3_000).fill('carrier_id=c1').join('&'),
        `q=${'a%20'.repeat(3_000)}`,
      ];
      for (const query of [...odd, ...wrong, ...deep])
        expect([query.slice(0, 30), (await get('/user/list', query)).status]).toEqual([query.slice(0, 30), 400]);
    });
  });

  it('compare only one column, and do not match a symbol with the rune that replaces it in the index', async () => {
    const { user_id } = await service.createUser({ first_name: 'Zyxwvu', last_name: 'x+.x' });
    await service.createUser({ last_name: 'xᚪᚭx' });
    expect(await found(`last_name_like=${encodeURIComponent('X+.')}`)).toEqual([user_id]);
    expect(await found('first_name_like=yxwv')).toEqual([user_id]);
    expect(await found('last_name_like=yxwv')).toEqual([]);
    expect(await found('q=yxwv')).toEqual([user_id]);
  });

  it('find a number in the attributes as PostgreSQL prints the number', async () => {
    for (const number of [0, -1, 1.5, 1e15, Number.MAX_SAFE_INTEGER, '0012345678901234567']) {
      const { user_id } = await service.createUser({ attributes: { number }, password: undefined });
      const [{ shown } = { shown: '' }] = await service.rows<{ shown: string }>(
        `select attributes ->> 'number' as shown from users where user_id = $1`,
        [user_id],
      );
      expect([shown, await found(`attributes.number=${shown}`)]).toEqual([shown, [user_id]]);
    }
  });

  it('find a user by changed values and no longer by earlier ones', async () => {
    const before = {
      first_name: 'Before',
      phone: '+4312000000',
      job_title: 'Old title',
      department: 'Night shift',
      locale: 'de',
    };
    const change = {
      first_name: 'After',
      phone: '+4399999999',
      job_title: 'New title',
      department: 'Day shift',
      locale: 'fr',
    };
    const { user_id } = await service.createUser(before);
    const patch = (body: object) => service.patch(`/user/${user_id}`, { token: admin.token, body });
    expect((await patch(change)).status).toBe(200);
    const now = ['q=after', 'first_name=After', 'phone_like=99999', 'q=new+title', 'job_title_like=ew+ti', 'q=new+day'];
    const formerly = ['q=before', 'first_name=Before', 'phone_like=12000000', 'q=old+title', 'department=Night+shift'];
    for (const query of now) expect([query, await found(query)]).toEqual([query, [user_id]]);
    for (const query of [...formerly, 'q=night']) expect([query, await found(query)]).toEqual([query, []]);
    const bulk = { token: admin.token, body: { department: 'Depot' } };
    expect((await service.patch(`/user/all?user_id=${user_id}`, bulk)).body.changed).toBe(1);
    expect([await found('q=depot'), await found('department=Depot'), await found('q=shift')]).toEqual([
      [user_id],
      [user_id],
      [],
    ]);
    expect((await patch({ department: '', job_title: '' })).body).toMatchObject({ department: null, job_title: null });
    expect(await found(`department_isnull=true&user_id=${user_id}`)).toEqual([user_id]);
  });

  describe('compared with a plain model', () => {
    let callers: { login: TestLogin; carrier_id: string | null; row: ModelUser }[];
    beforeAll(async () => {
      const logins = [admin, await service.loginAs({ carrier_id: 'c1', roles: ['carrier_administrator'] })];
      // The model contains the callers, so recorded activity must not change them.
      await service.rows(`update sessions set last_seen_at = now() + interval '1 hour'`);
      await service.rows(`update user_seen set last_seen_at = '2026-01-01'`);
      await service.rows(`insert into roles (name, user_types, permissions, second_factor_required_from)
        values ('other', '{system,carrier}', '{}', '2026-01-01')`);
      callers = [];
      for (const login of logins) {
        const row = (await service.get(`/user/${login.user_id}`, admin)).body;
        callers.push({ login, carrier_id: row.carrier_id, row });
      }
    });

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
      await service.rows(`
        insert into sessions (session_id, user_id, user_type, carrier_id, refresh_token_hash, refreshed_at, amr,
          expires_at, absolute_expires_at)
        select gen_random_uuid(), user_id, user_type, carrier_id, '', now(), '{mfa}', 'infinity', 'infinity'
        from user_seen join users using (user_id) where user_seen.last_seen_at > now() - interval '1 minute'`);
      return [...users, ...callers.map(({ row }) => row)];
    }

    /** Reads all pages. */
    async function walk(query: string, login: TestLogin): Promise<string[]> {
      const met: string[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const url = `/user/list?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`;
        const { status, body, text } = await service.get(url, login);
        if (status !== 200) throw new Error(`${query}: ${text}`);
        met.push(...body.items.map(({ user_id }: ModelUser) => user_id));
        cursor = body.next_cursor;
      }
      return met;
    }

    it('find the same users by each parameter alone', async () => {
      const met = new Set<string>();
      const seed = fc.array(fc.noBias(fc.nat()), { minLength: 6, maxLength: 6 });
      const seedsOfAll = fc.sample(seed, { seed: 12, numRuns: 20 });
      const users = await fill(fc.sample(modelUser, { seed: 9, numRuns: 120 }));
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
          expect([query, (await found(query)).sort()]).toEqual([query, wanted.sort()]);
          if (wanted.length > 0) met.add(parameter);
          if (index >= 1 && met.has(parameter)) break;
        }
      // Control: each parameter matches a user.
      expect(filters.filter((parameter) => !met.has(parameter))).toEqual([]);
    });

    it('find, count, sort, page and preview the same users by combined parameters', async () => {
      let met = 0;
      const property = fc.asyncProperty(
        fc.array(modelUser, { minLength: 1, maxLength: 25 }),
        fc.array(question, { minLength: 4, maxLength: 4 }),
        async (drafts, questions) => {
          const users = await fill(drafts);
          for (const { conditions, sort, direction, per_page, deleted } of questions) {
            const asked = conditions.map((one) => [one.parameter, valueFor(one, users)] as const);
            const query = asked.map(([parameter, value]) => `${parameter}=${encodeURIComponent(value)}`);
            const parts = [...query, ...(deleted ? ['deleted=true'] : [])];
            const sorted = [...parts, `order_by=${sort}`, `order_dir=${direction}`].join('&');
            for (const { login, carrier_id } of callers) {
              const wanted = users
                .filter((user) => carrier_id === null || user.carrier_id === carrier_id)
                .filter((user) => asked.every(([parameter, value]) => meets(user, parameter, value)))
                .filter(({ deleted_at }) => (deleted_at !== null) === deleted)
                .map(({ user_id }) => user_id)
                .sort();
              met += wanted.length;
              const whole = await service.get(`/user/list?count=exact&per_page=500&${sorted}`, login);
              const order: string[] = whole.body.items.map(({ user_id }: ModelUser) => user_id);
              expect([parts, [...order].sort()]).toEqual([parts, wanted]);
              expect([parts, whole.body.total]).toEqual([parts, { value: wanted.length, relation: 'eq' }]);
              expect(isSorted(whole.body.items, sort, direction)).toBe(true);
              const walked = await walk(`${sorted}&count=none&per_page=${per_page}`, login);
              expect([sorted, walked]).toEqual([sorted, order]);
              if (deleted) continue;
              const preview = [...(query.length === 0 ? ['everyone=true'] : query), 'dry_run=true'].join('&');
              const { body } = await service.delete(`/user/all?${preview}`, login);
              expect([parts, body.matched]).toEqual([parts, wanted.length]);
            }
          }
        },
      );
      await fc.assert(property, { numRuns: 8, endOnFailure: true });
      // Control: the questions match users.
      expect(met).toBeGreaterThan(15);
    });
  });
});
