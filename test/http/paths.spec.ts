import { randomUUID } from 'node:crypto';
import { document } from '../support/document';
import { requestHead } from '../support/raw-connection';
import { rawRequest, statusOf } from '../support/raw-request';
import { type TestLogin, TestService } from '../support/service';

/** Changes a path. */
type Variant = (path: string) => string;
const last = (path: string) => path.slice(path.lastIndexOf('/') + 1);
const parent = (path: string) => path.slice(0, path.lastIndexOf('/'));
const hex = (text: string) => [...text].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('');
const ends = (...texts: string[]) =>
  texts.map(
    (text): Variant =>
      (path) =>
        path + text,
  );
const starts = (...texts: string[]) =>
  texts.map(
    (text): Variant =>
      (path) =>
        text + path,
  );

const cases: Variant[] = [
  (path) => path.toUpperCase(),
  (path) => `/${path.charAt(1).toUpperCase()}${path.slice(2)}`,
  (path) => path.replace(/[a-z](?=[^a-z]*$)/, (letter) => letter.toUpperCase()),
  (path) => path.replace(/\/[a-z]/g, (start) => start.toUpperCase()),
];

const slashes: Variant[] = [
  ...ends('/', '//', '/.', '/./', '/..', '/../', ';', ';x=1', '/;', '/;/', '\\', '\\x', '/*', ':', '*', '~', '!', ','),
  ...ends('.', '.json', '.html', '..;/', '/..;/', '@', '&', '=', '|', '^'),
  ...starts('/', '//', '/.', '/..', '/;', '/x/..', '/docs/..', '/health/live/..', '/health/live/..;', '//evil.test'),
  ...starts('/auth/login/../..', '\\', '/\\', '/api', '/v1', '/.well-known/..', '/.well-known'),
  (path) => `${parent(path)}//${last(path)}`,
  (path) => `${parent(path)}/./${last(path)}`,
  (path) => `${parent(path)}/x/../${last(path)}`,
  (path) => `${parent(path)}/;/${last(path)}`,
  (path) => `${parent(path)}\\${last(path)}`,
  (path) => path.replace(/\//g, '\\'),
  (path) => path.slice(1),
  (path) => hex(path),
];

const escapes: Variant[] = [
  (path) => `/${hex(path.charAt(1))}${path.slice(2)}`,
  (path) => `/${hex(path.charAt(1)).toUpperCase()}${path.slice(2)}`,
  (path) => `${path.slice(0, -1) || '/'}${hex(path.slice(-1))}`,
  (path) => `/${hex(path.slice(1))}`,
  (path) => `${parent(path) || '/x'}%2f${last(path)}`,
  (path) => `${parent(path)}/%2e/${last(path)}`,
  (path) => `${parent(path)}/x/%2e%2e/${last(path)}`,
  (path) => `/${hex(path.charAt(1)).replace('%', '%25')}${path.slice(2)}`,
  (path) => `/%u00${path.charCodeAt(1).toString(16)}${path.slice(2)}`,
  (path) => `/%c1%${(path.charCodeAt(1) | 0x80).toString(16)}${path.slice(2)}`,
  ...[
    ...['%', '%zz', '%2', '%00', '%20', '%09', '%0a', '%0d%0aX:y', '%2f', '%2F', '%5c', '%3b', '%3f', '%3Fx=1', '%23'],
    ...['%2523', '%2e', '%2e%2e', '%2e%2e%2f', '%252e', '%c0%ae', '%c0%af', '%e2%80%ae', '%ff', '%ed%a0%80'],
  ].flatMap((text) => [...ends(text), ...starts(`/${text}`)]),
];

const unicode: Variant[] = [
  (path) => path.replace('s', '\u017f'),
  (path) => path.replace('u', '\uff55'),
  (path) => path.replace('/', '\uff0f'),
  (path) => `/${path.replace('/', '\u2215')}`,
  ...ends('\u0301', '\u200b', '\ufeff', '\u3002', '\u{1F600}', 'a'.repeat(10_000), `/${'a/'.repeat(5_000)}`),
];

/** Request targets that contain a protected path. */
const targets: Variant[] = [
  ...starts('http://localhost', 'http://evil.test', 'HTTP://x', '//localhost', 'localhost', 'file://'),
  ...starts('http://localhost/auth/login@'),
  () => 'localhost:3000',
  () => '*',
];

const queries = ends(
  ...[
    '?',
    '?x=/auth/login',
    '?/auth/login',
    '?/../../health/live',
    '?%2fhealth%2flive',
    '#',
    '#/auth/login',
    '#?x',
    '?#',
  ],
  ...['%3f/health/live', '?token=x', '?access_token=x', '?x-auth-token=x', '?_method=GET', '?format=json', '??', '?%'],
  '?%zz=%',
);

/** Requests with several errors at once. */
const wrong: [method: string, url: string, request: { body?: unknown; headers?: Record<string, string> }][] = [
  ['POST', '/user/create', { body: { name: 1, unknown: true } }],
  ['POST', '/user/create', { body: '{"name":', headers: { 'content-type': 'application/json' } }],
  ['POST', '/user/create', { body: '<a/>', headers: { 'content-type': 'application/xml' } }],
  ['POST', '/user/create', {}],
  ['GET', '/user/list?nothing=1&per_page=0&cursor=x', {}],
  ['PATCH', '/user/all?nothing=1', { body: { roles: [1] }, headers: { 'if-match': '"1"' } }],
  ['DELETE', '/user/all?everyone=true', { body: { a: 1 } }],
  ['GET', `/user/${randomUUID()}`, {}],
  ['GET', '/user/not-an-id', {}],
  ['PATCH', `/user/${randomUUID()}`, { body: { roles: ['nothing'] }, headers: { 'if-match': '"1"' } }],
  ['DELETE', `/user/${randomUUID()}?purge=perhaps`, {}],
  ['POST', `/user/${randomUUID()}/restore`, { body: { a: 1 } }],
  ['GET', '/audit/list?nothing=1', {}],
];

describe('paths that resemble a protected route', () => {
  let service: TestService;
  let user: TestLogin & { name: string };
  let user_id: string;
  let routes: { method: string; path: string; closed: boolean }[];
  const closedRoutes = () => routes.filter(({ closed }) => closed);

  beforeAll(async () => {
    service = await TestService.start();
    user = await service.loginAs({ roles: ['carrier_user'] });
    ({ user_id } = await service.createUser());
    routes = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path: path.replace(/\{[^}]+\}/g, path.includes('{token}') ? 'A'.repeat(43) : user_id),
        closed: operation['x-permission'] !== 'none',
      })),
    );
    expect(closedRoutes().length).toBeGreaterThan(14);
  });
  afterAll(() => service.close());

  const storedUsers = () => service.rows('select user_id, version, deleted_at from users order by user_id');
  const send = async (method: string, target: string, token?: string) => {
    const authorization = token === undefined ? undefined : `Bearer ${token}`;
    const head = requestHead(method, target, { authorization, 'content-length': '0', connection: 'close' });
    return statusOf(await rawRequest(service.port, Buffer.from(head)));
  };

  it.each([
    // 400: a missing body is rejected before the id is read
    ['another case', cases, [400, 404, 405]],
    ['slashes, dots, semicolons and backslashes', slashes, [400, 404, 405]],
    ['percent-encoding', escapes, [404]],
    ['look-alike letters and endless paths', unicode, [400, 404, 405]],
  ])('reaches no handler by %s (H3, H4, H5, H8)', async (_what, variants, refusals) => {
    // Some routes are enough for each variant, because router and guards are the same for all.
    const probes = new Map(
      variants.flatMap((vary, index) =>
        someOf(routes, index).map((route) => [
          `${route.method} ${vary(route.path)}`,
          { ...route, target: vary(route.path) },
        ]),
      ),
    );
    // An id in upper case is the same id.
    const own = new Set(routes.map(({ method, path }) => `${method} ${path}`));
    const work = [...probes].filter(([key]) => !own.has(key.replace(new RegExp(user_id, 'i'), user_id)));
    expect(work.length).toBeGreaterThan(30);
    const found: string[] = [];
    await inParallel(work, async ([key, { method, target, closed }]) => {
      const administrator = closed ? await send(method, target, service.admin.token) : null;
      const anonymous = administrator === 404 ? 404 : await send(method, target);
      if (![...refusals, 401].includes(anonymous) || (administrator !== null && !refusals.includes(administrator)))
        found.push(`${key} → ${anonymous}, ${administrator}`);
    });
    expect(found).toEqual([]);
    expect((await service.get(`/user/${user_id}`, service.admin)).status).toBe(200);
  });

  it.each([
    ['absolute, authority and asterisk targets', targets, [400, 401, 404, 405]],
    ['queries and fragments', queries, [400, 401, 404]],
  ])('opens no protected path by %s (H6, H7)', async (_what, variants, refusals) => {
    const found: string[] = [];
    for (const [index, vary] of variants.entries())
      for (const { method, path } of someOf(closedRoutes(), index)) {
        const status = await send(method, vary(path));
        if (!refusals.includes(status)) found.push(`${method} ${vary(path)} → ${status}`);
      }
    expect(found).toEqual([]);
  });

  it('opens no path by CONNECT, OPTIONS *, a token in the query, or Latin-1 (H6, H7, H8)', async () => {
    for (const target of ['localhost:3000', 'evil.test:443', '/user'])
      expect([0, 400, 404, 405]).toContain(await send('CONNECT', target));
    expect([404, 405]).toContain(await send('OPTIONS', '*'));
    for (const name of ['token', 'access_token', 'authorization'])
      expect(await send('GET', `/user?${name}=${service.admin.token}`)).toBe(401);
    const latin1 = Buffer.from('GET /us\xe9r HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 'latin1');
    expect([400, 404]).toContain(statusOf(await rawRequest(service.port, latin1)));
    expect(await send('GET', `/user/${'a'.repeat(60_000)}`, service.admin.token)).toBe(404);
    expect(await send('GET', `/user/${'a'.repeat(100_000)}`)).toBe(431);
    expect(await send('GET', '/health/live')).toBe(200);
  });

  it.each(wrong)(
    '%s %s (%#): responds with 401 without a login, and with 403 without the permission, before other errors (Z21)',
    async (method, url, request) => {
      for (const [token, status, code] of [
        [undefined, 401, 'auth.token_missing'],
        ['not.a.token', 401, 'auth.token_invalid'],
        [user.token, 403, 'access.denied'],
      ] as const) {
        const answer = await service.send(method, url, { ...request, ...(token === undefined ? {} : { token }) });
        const named = (answer.body.errors as { code: string }[] | undefined)?.map((error) => error.code);
        expect([answer.status, answer.body.code]).toEqual([status, code]);
        expect(named).toEqual(status === 403 ? ['permission.missing'] : undefined);
      }
    },
  );

  it('responds with 400 before 404, 404 before 412, and 412 before 409 (Z21)', async () => {
    const { user_id: id } = await service.createUser();
    const change = async (of: string, body: unknown, version: string) =>
      (await service.patch(`/user/${of}`, { ...service.admin, body, headers: { 'if-match': version } })).status;
    expect(await change(randomUUID(), { unknown: 1 }, '"99"')).toBe(400);
    expect(await change(randomUUID(), { name: user.name }, '"99"')).toBe(404);
    expect(await change(id, { name: user.name }, '"99"')).toBe(412);
    expect(await change(id, { name: user.name }, '"1"')).toBe(409);
  });

  it('finds no user by other forms of an id, without a 500 (Z22)', async () => {
    const forms = [
      ...['1', '01', '1e0', '0', '-1', '0x1', 'null', 'undefined', 'NaN', 'true', 'me', 'self', '*', user.name],
      ...[user_id.replace(/-/g, ''), `{${user_id}}`, `urn:uuid:${user_id}`, `(${user_id})`, `${user_id}0`, '%EF%BC%91'],
      ...[user_id.slice(0, -1), `${user_id},${user.user_id}`, `%20${user_id}`, `${user_id}%20`, `${user_id}%00`],
      ...[`${user_id}%0a`, `${user_id}.json`, `${user_id}'`, `"${user_id}"`, `${user_id}--`, user_id.replace('-', '_')],
      ...[encodeURIComponent(user_id.replace(/-/g, '–')), '00000000-0000-0000-0000-000000000000'],
      ...['ffffffff-ffff-ffff-ffff-ffffffffffff', 'g'.repeat(8) + user_id.slice(8), 'a'.repeat(127), 'a'.repeat(4_000)],
      ...[`${user_id};a=1`, `${user_id}/`, `/${user_id}`],
    ];
    const before = await storedUsers();
    const routesOfUser = [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/restore'],
      ['POST', '/invite'],
    ] as const;
    for (const form of forms)
      for (const [method, suffix] of routesOfUser) {
        const { statusCode, headers } = await service.inject({
          method,
          url: `/user/${form}${suffix}`,
          headers: { authorization: `Bearer ${service.admin.token}` },
          ...(method === 'PATCH' ? { payload: { first_name: 'Eve' } } : {}),
        });
        expect([method, form, statusCode]).toEqual([method, form, 404]);
        expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
      }
    expect(await storedUsers()).toEqual(before);
    // RFC 9562 §4: an id in upper case is the same id.
    const upper = await service.get(`/user/${user_id.toUpperCase()}`, service.admin);
    expect([upper.status, upper.body.user_id]).toEqual([200, user_id]);
  });

  it('treats other spellings of /user/all as no route, or applies the same rules (B4)', async () => {
    const paths = [
      ...['/user/ALL', '/USER/all', '/user/all/', '/user//all', '//user/all', '/user/./all', '/user/x/../all', '*'],
      ...['/user/%61ll', '/user/al%6c', '/%75ser/all', '/user/all%2F', '/user%2Fall', '/user/%2561ll', '/user/all%00'],
      ...['/user/all%20', '/user/%20all', '/user/all;x', '/user/all;/x', '/user;a/all', '/user/all.json', '/user/all*'],
      ...['/user/*', '/user\\all', '/user/all\\', '/user/ａll', '/user/all%3Feveryone=true', '/user/list/all'],
      ...['/user/all/all', '/user/all,list', 'http://localhost/user/all', 'user/all', '/../user/all', '/user/all#'],
    ];
    const before = await storedUsers();
    for (const path of paths) {
      const target = `${path}?everyone=true`;
      expect([path, [400, 404].includes(await send('DELETE', target, service.admin.token))]).toEqual([path, true]);
      expect([path, [400, 403, 404].includes(await send('DELETE', target, user.token))]).toEqual([path, true]);
    }
    for (const path of ['/user/all', '/user/all?', '/user/all?#everyone=true']) {
      expect([path, await send('DELETE', path, user.token)]).toEqual([path, 403]);
      expect([path, await send('DELETE', path, service.admin.token)]).toEqual([path, 400]);
    }
    expect((await service.delete('/user/all?', service.admin)).body.code).toBe('bulk.filter_required');
    expect((await service.delete('/user/all?everyone=true', user)).body.code).toBe('access.denied');
    expect(await storedUsers()).toEqual(before);
  });

  it('keeps users whose names are the names of routes apart from these routes (B4)', async () => {
    for (const name of ['all', 'list', 'create']) {
      await service.createUser({ name, email: `${name}@example.com` });
      const status = await send('GET', `/user/${name}?nothing=1`, service.admin.token);
      expect([name, status]).toEqual([name, name === 'list' ? 400 : 405]);
    }
  });
});

/** Returns every sixth item, beginning at another one for each index. */
function someOf<Item>(items: Item[], index: number): Item[] {
  return items.filter((_, position) => (position + index) % 6 === 0);
}

/** Runs eight requests at a time. */
async function inParallel<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = [...items];
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) await work(item);
    }),
  );
}
