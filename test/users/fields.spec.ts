import { type Arbitrary, assert, asyncProperty, constant, dictionary, jsonValue, oneof } from 'fast-check';
import { type UserField, userFields } from '../../src/users/user-fields';
import { password, type TestLogin, TestService } from '../support/service';

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** Fields that no request may set: columns, response fields and their names in other systems. */
const never: Record<string, unknown> = {
  ...{ id: 1, user_id: '018f0000-0000-7000-8000-000000000000', role: 'administrator', permissions: ['*'], scope: '*' },
  ...{ may_grant: ['administrator'], is_admin: true, isAdmin: true, type: 'system', built_in: true, version: 1 },
  ...{ created_at: '2000-01-01T00:00:00Z', updated_at: '2000-01-01T00:00:00Z', created_by: null, search_text: 'a' },
  ...{
    email_verified: true,
    email_verified_at: '2000-01-01T00:00:00Z',
    email_pending: 'eve@example.com',
    online: true,
  },
  ...{ password_hash: '$argon2id$', password_changed_at: null, locked_until: null, last_login_at: null },
  ...{ last_login_ip: '192.0.2.1', last_seen_at: null, deleted_at: null, mfa_secret: 'A', mfa_enabled: false },
  ...{ token_version: 0, session_id: null, credential: {}, second_factors: [], actor_type: 'system' },
};
/** Keys that reach prototypes, as text, because an object literal would not keep them. */
const prototypes = [
  '"__proto__":{"roles":["administrator"]}',
  '"constructor":{"prototype":{"roles":["administrator"]}}',
  '"prototype":{}',
];
const otherPassword = 'correct horse battery staples';

/** The algorithm of RFC 7396 §2. */
function mergePatch(target: Json | undefined, patch: Json): Json {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const merged = typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

describe('fields of users', () => {
  let service: TestService;
  let admin: TestLogin;
  let carrierAdministrator: TestLogin & { name: string };
  let user: TestLogin & { name: string };
  beforeAll(async () => {
    service = await TestService.start();
    ({ admin } = service);
    carrierAdministrator = await service.loginAs({ roles: ['carrier_administrator'] });
    user = await service.loginAs({ roles: ['carrier_user'] });
  });
  afterAll(() => service.close());

  const rowOf = async (user_id: string) => (await service.rows('select * from users where user_id = $1', [user_id]))[0];
  const json = { 'content-type': 'application/json' };
  /** Sends a body as an object or as JSON text. */
  const patch = (url: string, body: unknown, { token }: Pick<TestLogin, 'token'> = admin) =>
    service.patch(url, { token, body, headers: json });

  it('have the types of the columns', async () => {
    const columns = await service.rows<{ name: string; type: string }>(`
      select attname as name, replace(format_type(atttypid, null), 'timestamp with time zone', 'timestamptz') as type
      from pg_attribute
      where attrelid = 'users'::regclass
        and attnum > 0
        and not attisdropped`);
    expect(Object.fromEntries(columns.map(({ name, type }) => [name, type]))).toEqual(
      Object.fromEntries(Object.entries<UserField>(userFields).map(([name, { type }]) => [name, type])),
    );
  });

  describe('that the caller may not set', () => {
    it('are rejected at creation, which creates no user (Z6)', async () => {
      const fields = { user_type: 'carrier', name: 'mallory', email: 'mallory@example.com', carrier_id: 'c1' };
      const create = (body: unknown) =>
        service.post('/user/create', { token: carrierAdministrator.token, body, headers: json });
      for (const [field, value] of Object.entries({ ...never, status: 'active' })) {
        const answer = await create({ ...fields, [field]: value });
        expect([field, answer.status, answer.body.errors[0].code]).toEqual([field, 400, 'field.unknown']);
      }
      for (const key of prototypes)
        expect([key, (await create(`${JSON.stringify(fields).slice(0, -1)},${key}}`)).status]).toEqual([key, 400]);
      for (const other of [{ user_type: 'system', carrier_id: undefined }, { carrier_id: 'c2' }])
        expect((await create({ ...fields, ...other })).body).toMatchObject({ status: 403, code: 'access.denied' });
      for (const role of ['administrator', 'operator', 'auditor'])
        expect((await create({ ...fields, roles: [role] })).status).toBe(400);
      expect((await create({ ...fields, carrier_scope: ['c2'] })).status).toBe(400);
      expect(await service.rows(`select 1 from users where name = 'mallory'`)).toEqual([]);
      expect((await create(fields)).body).toMatchObject({
        ...{ roles: [], status: 'invited', email_verified_at: null, version: 1 },
        created_by: carrierAdministrator.user_id,
      });
    });

    it('are all but the personal ones for the own user (Z7)', async () => {
      const others: Record<string, unknown> = {
        ...{ name: 'root', email: 'eve@example.com', roles: ['carrier_administrator'], status: 'active' },
        ...{ carrier_scope: null, allowed_ips: [], attributes: { tier: 'gold' }, must_change_password: false },
      };
      const unknown = { ...never, user_type: 'system', carrier_id: 'c2', password: otherPassword };
      for (const login of [user, carrierAdministrator]) {
        const before = await rowOf(login.user_id);
        const change = (body: unknown) => patch(`/user/${login.user_id}`, body, login);
        for (const [field, value] of Object.entries(unknown)) {
          const answer = await change({ first_name: 'Eve', [field]: value });
          expect([field, answer.status, answer.body.errors[0].code]).toEqual([field, 400, 'field.unknown']);
        }
        for (const key of prototypes)
          expect([key, (await change(`{"first_name":"Eve",${key}}`)).status]).toEqual([key, 400]);
        const refused =
          login === user ? others : { roles: ['carrier_administrator'], status: 'disabled', carrier_scope: null };
        for (const [field, value] of Object.entries(refused))
          expect([field, (await change({ first_name: 'Eve', [field]: value })).status]).toEqual([field, 403]);
        expect(await rowOf(login.user_id)).toEqual(before);
      }
      const personal = {
        ...{ first_name: 'Ada', last_name: 'Lovelace', phone: '+4312345678', job_title: 'Dispatcher' },
        ...{ locale: 'de-AT', timezone: 'Europe/Vienna' },
      };
      expect((await patch(`/user/${user.user_id}`, personal, user)).body).toMatchObject(personal);
    });

    it('are those of a single user and internal ones in a bulk change (Z8, B18)', async () => {
      const single = {
        ...{ email: 'eve@example.com', name: 'eve', login: 'eve', first_name: 'Eve', last_name: 'Eve' },
        ...{ phone: '+4312345678', password: otherPassword, user_type: 'system', carrier_id: 'c2' },
      };
      const all = () => service.rows('select * from users order by user_id');
      const before = await all();
      for (const filter of ['carrier_id=c1', 'everyone=true', 'carrier_id=c1&dry_run=true'])
        for (const [field, value] of Object.entries({ ...never, ...single })) {
          const answer = await patch(`/user/all?${filter}`, { locale: 'fr', [field]: value });
          expect([field, answer.status, answer.body.errors[0].code]).toEqual([field, 400, 'field.unknown']);
        }
      for (const key of prototypes)
        expect((await patch('/user/all?carrier_id=c1', `{"locale":"fr",${key}}`)).status).toBe(400);
      expect(await all()).toEqual(before);
      expect((await patch('/user/all?carrier_id=c1', { locale: 'fr' })).body.changed).toBeGreaterThan(1);
    });

    it('include the password: administrators set only a first one, which expires in 7 days (Z18)', async () => {
      for (const field of ['password', 'new_password', 'password_hash', 'current_password'])
        for (const path of [`/user/${user.user_id}`, `/user/all?user_id=${user.user_id}`]) {
          const answer = await patch(path, { [field]: otherPassword });
          expect([field, answer.status, answer.body.errors[0].code]).toEqual([field, 400, 'field.unknown']);
        }
      expect((await service.login(user.name)).user_id).toBe(user.user_id);

      const { user_id, name, ...created } = await service.createUser({ must_change_password: undefined });
      expect(created).toMatchObject({ must_change_password: true, status: 'active' });
      expect(JSON.stringify(created)).not.toMatch(/"password"|argon2/);
      const first = await service.login(name);
      expect((await service.get('/user', first)).body.permissions).toEqual([]);
      const changed = await patch(`/user/${user_id}`, { first_name: 'A' }, first);
      expect(changed.body.code).toBe('auth.password_change_required');

      const unused = await service.createUser({ must_change_password: undefined });
      const days = 'select round(extract(epoch from expires_at - now()) / 86400)::integer as days from credentials';
      expect(await service.rows(`${days} where user_id = $1`, [unused.user_id])).toEqual([{ days: 7 }]);
      const expire = `update credentials set expires_at = now() - interval '1 second' where user_id = $1`;
      await service.rows(expire, [unused.user_id]);
      const late = await service.post('/auth/login', { body: { login: unused.name, password } });
      expect(late.body.code).toBe('auth.invalid_credentials');
    });
  });

  it('distinguish absent, null and empty in a change (I19)', async () => {
    const { user_id } = await service.createUser();
    const change = (body: object) => patch(`/user/${user_id}`, body);
    const full = {
      ...{ first_name: 'Ada', last_name: 'Lovelace', phone: '+4312345678', locale: 'de-AT', timezone: 'Europe/Vienna' },
      ...{ roles: ['carrier_user'], allowed_ips: ['10.0.0.0/8'], must_change_password: true },
      attributes: { k: 1, keep: 2 },
    };
    const { body } = await change({ ...full, attributes: { ...full.attributes, a: null, list: null } });
    expect(body).toMatchObject(full);
    expect((await change({})).body).toEqual(body);
    const cleared = { first_name: '', last_name: '', phone: null, locale: null, timezone: null };
    for (const [field, value] of Object.entries(cleared))
      expect((await change({ [field]: null })).body).toMatchObject({ [field]: value });
    for (const field of ['name', 'email', 'status', 'roles', 'allowed_ips', 'attributes', 'must_change_password'])
      expect((await change({ [field]: null })).body.errors).toMatchObject([
        { pointer: `/${field}`, code: 'field.wrong_type' },
      ]);
    for (const field of ['name', 'email', 'phone', 'locale', 'timezone', 'status'])
      expect([field, (await change({ [field]: '' })).status]).toEqual([field, 400]);
    const emptied = await change({ first_name: '', roles: [], allowed_ips: [], attributes: {} });
    expect(emptied.body).toMatchObject({ first_name: '', roles: [], allowed_ips: [], attributes: full.attributes });
    expect((await change({ attributes: { k: null } })).body.attributes).toEqual({ keep: 2 });
  });

  describe('merge patches of attributes (RFC 7396)', () => {
    const stored = async (attributes: Json) => {
      await service.rows('update users set attributes = $2 where user_id = $1', [
        user.user_id,
        JSON.stringify(attributes),
      ]);
    };
    const merge = async (attributes: Json) => {
      const { body } = await patch(`/user/${user.user_id}`, { attributes });
      return body.errors?.[0].pointer ?? body.attributes;
    };

    it.each<[Json, Json]>([
      [{ a: 'b' }, { a: null, d: null }],
      [{ a: ['b'] }, { a: 'c' }],
      [{ a: 'c' }, { a: ['b', null, { c: null }] }],
      [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }],
      [{ e: null }, { a: 1 }],
      [{ a: 'foo' }, { b: { bb: { ccc: null } } }],
      [
        { c: [], d: 1, e: null, f: { g: {} } },
        { c: {}, d: {}, e: {}, f: { g: {}, h: {} }, i: {} },
      ],
      [{}, { toString: 'a', valueOf: { hasOwnProperty: 1 } }],
    ])('merge into %j the patch %j', async (before, change) => {
      await stored(before);
      expect(await merge(change)).toEqual(mergePatch(before, change));
    });

    it('merge any patch into any values', async () => {
      const keys = oneof(constant('a'), constant('b'), constant('c'));
      // Compared as JSON, which has no -0. Tests of bodies cover numbers that a double cannot hold
      // exactly.
      const isExact = (value: Json): boolean => {
        if (typeof value === 'number') return Number.isInteger(value) ? Number.isSafeInteger(value) : true;
        return typeof value !== 'object' || value === null || Object.values(value).every(isExact);
      };
      const isPlain = (value: Json): boolean =>
        isExact(value) && !/\\u0000|__proto__|-0\b|e[+-]?\d/.test(JSON.stringify(value));
      const values = (dictionary(keys, jsonValue({ maxDepth: 2, noUnicodeString: true })) as Arbitrary<Json>)
        .map((value) => JSON.parse(JSON.stringify(value)) as Json)
        .filter(isPlain);
      const property = asyncProperty(values, values, async (before, change) => {
        await stored(before);
        expect(await merge(change)).toEqual(mergePatch(before, change));
      });
      await assert(property, { numRuns: 60 });
    });

    it.each<[string, Json, Json, Json, Json[]]>([
      [
        'keys',
        Object.fromEntries(Array.from({ length: 103 }, (_, index) => [`k${index}`, { n: 1 }])),
        { k0: { n: null } },
        { k1: null },
        [{ more: 1 }, { k2: 2, more: 1 }, { k2: { n: 2 } }],
      ],
      [
        'bytes',
        { a: 'a'.repeat(9_000), b: 'b'.repeat(9_000), c: 'c'.repeat(9_000) },
        { c: 'c'.repeat(8_000) },
        { a: null, d: 1 },
        [{ more: 1 }, { b: 'B'.repeat(9_000) }],
      ],
    ])('let too many %s shrink in steps, but not grow (B31)', async (_what, before, first, second, more) => {
      await stored(before);
      const smaller = mergePatch(before, first);
      expect(await merge(first)).toEqual(smaller);
      for (const change of more) expect(await merge(change)).toBe('/attributes');
      expect(await merge(second)).toEqual(mergePatch(smaller, second));
    });
  });
});
