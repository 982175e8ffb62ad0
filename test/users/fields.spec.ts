import { type Arbitrary, assert, asyncProperty, constant, dictionary, jsonValue, oneof } from 'fast-check';
import { type UserField, userFields } from '../../src/users/user-fields';
import { queryOperations } from '../support/contract/body-operations';
import { importCsv } from '../support/data/imports';
import { allNaughtyStrings } from '../support/contract/naughty-strings';
import { password, type TestLogin, TestService } from '../support/service';
import { unexpectedResponses } from '../support/contract/unexpected-responses';

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
        ...{ everyone: true, confirm_token: 'a', dry_run: false },
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

    it('merge the examples of the RFC', async () => {
      const examples: [Json, Json][] = [
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
      ];
      for (const [before, change] of examples) {
        await stored(before);
        expect([before, change, await merge(change)]).toEqual([before, change, mergePatch(before, change)]);
      }
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
      await assert(property, { numRuns: 30 });
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

  describe('with hostile texts', () => {
    let token: string;
    let user_id: string;
    beforeAll(async () => {
      ({ token } = admin);
      ({ user_id } = await service.createUser());
    });
    const change = (body: unknown) => patch(`/user/${user_id}`, body);
    const read = (url: string) => service.get(url, { token });
    const is400 = ({ status }: { status: number }) => status === 400;
    const isHandled = ({ status }: { status: number }) => status < 500 && status !== 413;

    it('are limited in code points, so that selectors, marks and joiners count like a letter (I11)', async () => {
      for (const unit of ['❤\ufe0f', 'e\u0301', 'ර\u200dර\u0dca', '\u{1F600}']) {
        const longest = unit.repeat(100 / [...unit].length);
        for (const first_name of [`${longest}x`, `a${unit.repeat(4_000)}`])
          expect([unit, (await change({ first_name })).status]).toEqual([unit, 400]);
        expect((await change({ first_name: longest })).body.first_name).toBe(longest);
      }
    });

    it('are limited in every text field, and in attributes (I11)', async () => {
      expect((await change({ first_name: `a${'\ufe0f'.repeat(100_000)}` })).status).toBe(413);
      for (const field of ['name', 'phone', 'locale', 'timezone', 'email'])
        expect([field, (await change({ [field]: `ada${'\ufe0f'.repeat(70)}` })).status]).toEqual([field, 400]);
      expect((await change({ attributes: { k: '\ufe0f'.repeat(5_460) } })).status).toBe(400);
    });

    it('are rejected as times in every time filter (I13)', async () => {
      const filters = queryOperations().flatMap(([method, path, names]) =>
        names
          .filter((name) => /_at(_|$)/.test(name) && !name.endsWith('_isnull'))
          .map((name) => ({ method, path, name })),
      );
      expect(filters.length).toBeGreaterThan(100);
      const send = ({ method, path, name }: (typeof filters)[number]) => {
        const body = method === 'PATCH' ? { body: { locale: 'en' } } : {};
        return service.send(method, `${path}?${name}=2026-02-30T00:00:00Z`, { token, ...body });
      };
      expect(await unexpectedResponses(filters, ({ path, name }) => `${path} ${name}`, send, is400)).toEqual([]);
      expect((await service.get('/user/list?created_at_gt=0001-01-01T00:00:00Z', { token })).status).toBe(200);
    });

    it('have no control, bidirectional or invisible characters, so no name is a look-alike (I18)', async () => {
      // The tests of text-forms cover all characters.
      const hidden = [
        ...['\u0001', '\n', '\u001b[31m', '\u200b', '\u202e', '\u2066', '\ufeff', '\u3164', '\u{e0041}', '\u200d'],
      ];
      const named = ['first_name', 'last_name', 'name', 'phone', 'locale', 'timezone', 'email', 'job_title'];
      const bodies = hidden.flatMap((character) => named.map((field) => ({ [field]: `Ada${character}x` })));
      expect(await unexpectedResponses(bodies, JSON.stringify, change, is400)).toEqual([]);

      const role = { name: 'seen', user_types: ['carrier'] };
      expect((await service.post('/role/create', { token, body: role })).status).toBe(201);
      const expires_at = new Date(Date.now() + 3_600_000).toISOString();
      const requests = hidden.flatMap((character): [string, string, object][] => [
        ['POST', '/role/create', { ...role, name: 'unseen', description: `Ada${character}x` }],
        ['PATCH', '/role/seen', { description: `Ada${character}x` }],
        ['POST', '/auth/key/create', { name: `billing${character}x`, permissions: ['user:read'], expires_at }],
        ['POST', '/auth/login', { login: `admin@example.com${character}`, password }],
      ]);
      const send = ([method, url, body]: (typeof requests)[number]) => service.send(method, url, { token, body });
      expect(await unexpectedResponses(requests, JSON.stringify, send, is400)).toEqual([]);

      const inFile = hidden.filter((character) => character !== '\n');
      const rows = inFile.map((character, n) => `carrier,c1,hidden${n},hidden${n}@example.com,Ada${character}x`);
      const file = `user_type,carrier_id,name,email,first_name\n${rows.join('\n')}\n`;
      const imported = await importCsv(service, file, admin);
      expect(imported.body).toMatchObject({ changed: 0, skipped_count: inFile.length });
      for (const name of ['علی\u200cرضا', '👩🏽\u200d🚀', '❤\ufe0f\u200d🔥', 'O’Neill', '葛城'])
        expect((await change({ first_name: name })).body.first_name).toBe(name);
    });

    it('are trimmed around addresses only, not in names of people or passwords (I20)', async () => {
      const secret = '  a quiet little password  ';
      const body = {
        ...{ user_type: 'carrier', carrier_id: 'c1', name: 'blanks', email: ' \t Blanks@EXAMPLE.com\u00a0' },
        ...{ first_name: ' Ada ', password: secret, must_change_password: false },
      };
      const created = await service.post('/user/create', { token, body });
      expect(created.body).toMatchObject({ email: 'Blanks@example.com', first_name: ' Ada ' });
      for (const wrong of [secret.trimStart(), secret.trimEnd(), secret.replace(/ /g, '\u00a0')])
        expect((await service.post('/auth/login', { body: { login: 'blanks', password: wrong } })).status).toBe(401);
      await service.rows('update login_attempts set locked_until = null');
      expect(await service.login('blanks', secret)).toMatchObject({ user_id: created.body.user_id });
      for (const name of [' blanks2', 'blanks2 ', 'blanks 2', '\u00a0blanks2'])
        expect((await change({ name })).status).toBe(400);
      const same = { ...body, name: 'blanks2', email: 'blanks@example.com ' };
      expect((await service.post('/user/create', { token, body: same })).status).toBe(409);
      expect((await service.post('/auth/reset_email', { body: { email: ' blanks@example.com ' } })).status).toBe(202);
      expect((await service.mailbox.take('Blanks@example.com')).token).toEqual(expect.any(String));
    });

    it('from the list of naughty strings are kept exactly and found again, or rejected (I14)', async () => {
      let kept = 0;
      for (const text of new Set(allNaughtyStrings)) {
        const attributes = { k: text, list: [text], deep: { k: text } };
        const values = { first_name: text, last_name: `${text}${text}`, attributes };
        const changed = await change(values);
        expect([text, [200, 400]]).toEqual([text, expect.arrayContaining([changed.status])]);
        if (changed.status === 400) continue;
        kept++;
        expect((await read(`/user/${user_id}`)).body).toMatchObject(values);
        const value = encodeURIComponent(text);
        const query = `user_id=${user_id}&first_name=${value}&attributes.k=${value}`;
        expect([query, (await service.get(`/user/list?${query}`, { token })).body.items?.length]).toEqual([query, 1]);
      }
      expect(kept).toBeGreaterThan(100);
    });

    it('from the list of naughty strings break nothing as keys, names, addresses and search words (I14)', async () => {
      const bodies = allNaughtyStrings.flatMap((text): object[] => [
        { attributes: { [text]: 1 } },
        { name: text },
        { [text]: 1, email: `a@${text}.com`, phone: text, locale: text, timezone: text },
        { roles: [text], allowed_ips: [text], status: text },
      ]);
      expect(await unexpectedResponses(bodies, JSON.stringify, change, isHandled)).toEqual([]);
      const parameters = ['q', 'attributes.a', 'email_like', 'role', 'carrier_id_ne', 'cursor', 'order_by'];
      const queries = allNaughtyStrings.flatMap((text, index) =>
        ['q', parameters[index % parameters.length]].map(
          (name) => `/user/list?count=none&${name}=${encodeURIComponent(text)}`,
        ),
      );
      expect(await unexpectedResponses(queries, String, read, isHandled)).toEqual([]);
      const unknown = allNaughtyStrings.map((text) => `/user/list?${encodeURIComponent(text)}=1`);
      expect(await unexpectedResponses(unknown, String, read, is400)).toEqual([]);
    });
  });
});
