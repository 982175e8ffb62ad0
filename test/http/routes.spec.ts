import { randomUUID } from 'node:crypto';
import { METHODS } from 'node:http';
import { bodyOperations } from '../support/contract/body-operations';
import { document } from '../support/contract/document';
import { requestHead } from '../support/network/raw-connection';
import { rawRequest, statusOf } from '../support/network/raw-request';
import { type TestLogin, TestService } from '../support/service';
import { tableNames } from '../support/contract/tables';
import { unexpectedResponses } from '../support/contract/unexpected-responses';

/** Changes a path. */
type Variant = (path: string) => string;
const last = (path: string) => path.slice(path.lastIndexOf('/') + 1);
const parent = (path: string) => path.slice(0, path.lastIndexOf('/'));
const hex = (text: string) => [...text].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('');
const around =
  (before: string, after: string): Variant =>
  (path) =>
    before + path + after;
const ends = (...texts: string[]) => texts.map((text) => around('', text));
const starts = (...texts: string[]) => texts.map((text) => around(text, ''));

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
  ...['?', '?x=/auth/login', '?/auth/login', '?/../../health/live', '?%2fhealth%2flive', '#', '#/auth/login', '?#'],
  ...['%3f/health/live', '?token=x', '?access_token=x', '?x-auth-token=x', '?_method=GET', '?format=json', '??', '?%'],
  '?%zz=%',
);

/** Requests with several errors at once. */
const wrong: [method: string, url: string, request: { body?: unknown; headers?: Record<string, string> }][] = [
  ['POST', '/user/create', { body: { name: 1, unknown: true } }],
  ['POST', '/user/create', { body: '{"name":', headers: { 'content-type': 'application/json' } }],
  ['POST', '/user/create', { body: '<a/>', headers: { 'content-type': 'application/xml' } }],
  ['GET', '/user/list?nothing=1&per_page=0&cursor=x', {}],
  ['DELETE', '/user/all?everyone=true', { body: { a: 1 } }],
  ['PATCH', `/user/${randomUUID()}`, { body: { roles: ['nothing'] }, headers: { 'if-match': '"1"' } }],
  ['POST', `/user/${randomUUID()}/restore`, { body: { a: 1 } }],
  ['GET', '/audit/list?nothing=1', {}],
];

/** Paths that services often leave open. */
const leftovers = `
  admin api api-docs api-json api/docs actuator actuator/env actuator/health app backup backup.sql config
  config.json debug debug/pprof dist dump env error errors favicon.ico graphiql graphql health heapdump
  index.html info install internal jmx log logs manage management metrics node_modules old openapi.json openapi.yaml
  package.json package-lock.json phpinfo.php ping private prometheus readyz livez healthz robots.txt root secret
  server-status server-info setup sitemap.xml src stats status static swagger swagger-ui swagger.json
  swagger-ui.html system temp test tmp trace users user/exports user/import user/me user/search user/count auth
  auth/me auth/register auth/signup auth/token auth/refresh auth/introspect/x auth/session auth/session/current
  auth/reset auth/admin auth/impersonate oauth/token oauth2/token .env .git/config .git/HEAD
  .well-known/openid-configuration .well-known/security.txt .DS_Store .npmrc main.js main.js.map wp-login.php
  version v1 v2 ws socket.io telemetry`
  .trim()
  .split(/\s+/)
  .map((path) => `/${path}`);

/** Bodies of other kinds, all rejected with 415. */
const otherBodies = [
  ['application/x-www-form-urlencoded', 'first_name=x'],
  ['multipart/form-data; boundary=b', '--b\r\nContent-Disposition: form-data; name="first_name"\r\n\r\nx\r\n--b--\r\n'],
  ['text/xml', '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'],
  ['application/yaml', 'first_name: x'],
  ['application/x-ndjson', '{"first_name":"x"}\n{"first_name":"y"}'],
  ['application/octet-stream', '{"first_name":"x"}'],
] as const;

let service: TestService;
let token: string;
let user: TestLogin & { name: string };
let user_id: string;
let routes: { method: string; path: string; closed: boolean }[];

beforeAll(async () => {
  service = await TestService.start();
  ({ token } = service.admin);
  user = await service.loginAs({ roles: ['carrier_user'] });
  ({ user_id } = await service.createUser());
  routes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: path.replace(/\{[^}]+\}/g, path.includes('{token}') ? 'A'.repeat(43) : user_id),
      closed: operation['x-permission'] !== 'none',
    })),
  );
});
afterAll(() => service.close());

const closedRoutes = () => routes.filter(({ closed }) => closed);
const bearer = (secret?: string): Record<string, string> =>
  secret === undefined ? {} : { authorization: `Bearer ${secret}` };
const storedUsers = () => service.rows('select user_id, version, deleted_at from users order by user_id');
/** Sends a request without a body, and returns its status. */
const send = async (method: string, target: string, secret?: string) => {
  const head = requestHead(method, target, { ...bearer(secret), 'content-length': '0', connection: 'close' });
  return statusOf(await rawRequest(service.port, Buffer.from(head)));
};

describe('paths that resemble a protected route', () => {
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
    expect(work.length).toBeGreaterThan(5 * variants.length);
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

  it('responds with 401 without a login, and with 403 without the permission, before other errors (Z21)', async () => {
    for (const [method, url, { headers, ...request }] of wrong)
      for (const [secret, status, code] of [
        [undefined, 401, 'auth.token_missing'],
        ['not.a.token', 401, 'auth.token_invalid'],
        [user.token, 403, 'access.denied'],
      ] as const) {
        const answer = await service.send(method, url, { ...request, headers: { ...headers, ...bearer(secret) } });
        expect([method, url, answer.status, answer.body.code]).toEqual([method, url, status, code]);
        const named = (answer.body.errors as { code: string }[] | undefined)?.map((error) => error.code);
        expect(named).toEqual(status === 403 ? ['permission.missing'] : undefined);
      }
  });

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
    for (const form of forms)
      for (const route of ['GET', 'PATCH', 'DELETE', 'POST /restore', 'POST /invite']) {
        const [method, suffix = ''] = route.split(' ');
        const payload = method === 'PATCH' ? { payload: { first_name: 'Eve' } } : {};
        const sent = { method, url: `/user/${form}${suffix}`, headers: bearer(token), ...payload };
        const { statusCode, headers } = await service.inject(sent);
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
      ...['/user/%61ll', '/user/all%2F', '/user%2Fall', '/user/%2561ll', '/user/all%00', '/user/%20all', '/user/all;x'],
      ...['/user/all.json', '/user/*', '/user\\all', '/user/ａll', '/user/all%3Feveryone=true', '/user/all/all'],
      ...['http://localhost/user/all', 'user/all', '/user/all#'],
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

describe('methods, media types and undocumented paths', () => {
  it('validates JSON with any spelling or repetition of its type, and rejects other types with 415 (H1)', async () => {
    const fields = { user_type: 'carrier', carrier_id: 'c1', name: 'smuggled', email: 'smuggled@example.com' };
    const post = (types: string[], body: string) => {
      const lines = types.map((type) => `Content-Type: ${type}\r\n`).join('');
      const head = requestHead('POST', '/user/create', {
        ...bearer(token),
        'content-length': String(body.length),
        connection: 'close',
      });
      return rawRequest(service.port, head.replace(/\r\n$/, `${lines}\r\n${body}`));
    };
    for (const types of [['APPLICATION/JSON'], [' application/json '], ['application/json', 'text/plain']])
      expect([types, statusOf(await post(types, '{"unknown":true}'))]).toEqual([types, 400]);
    const wrong = [
      [],
      ['text/json'],
      ['text/plain', 'application/json'],
      ['application/json\u00a0'],
      ['a'.repeat(5_000)],
    ];
    for (const types of wrong) {
      const answer = await post(types, JSON.stringify(fields));
      expect([types, statusOf(answer)]).toEqual([types, 415]);
      expect(answer).toMatch(/^content-type: application\/problem\+json; charset=utf-8\r$/m);
    }
    expect(await service.rows(`select 1 from users where name = 'smuggled'`)).toEqual([]);
  });

  it('rejects forms, multipart, XML and binary bodies in every operation that takes JSON (H2)', async () => {
    const takesForms = (url: string, type: string) => url.startsWith('/auth/reset/') && type.includes('urlencoded');
    const probes = bodyOperations(user_id).flatMap(({ method, url }) =>
      otherBodies.filter(([type]) => !takesForms(url, type)).map(([type, body]) => ({ method, url, type, body })),
    );
    const found = await unexpectedResponses(
      probes,
      ({ url, type }) => `${url} ${type}`,
      ({ method, url, type, body }) => service.send(method, url, { token, body, headers: { 'content-type': type } }),
      ({ status }) => status === 415,
    );
    expect(found).toEqual([]);
  });

  it('rejects malformed forms on the page of a link (H2)', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const wrongForms = ['password=a&password=b', 'password[]=x', '__proto__=x&password=y', 'password=x&is_admin=1'];
    for (const body of [...wrongForms, 'password=%00', '']) {
      const { status } = await service.post(`/auth/reset/${'A'.repeat(43)}`, { body, headers });
      expect([body, status]).toEqual([body, 400]);
    }
  });

  it('responds to every other method of a known path with 405 and Allow, with any login (H10)', async () => {
    const found: string[] = [];
    for (const [path, operations] of Object.entries(document.paths)) {
      // Proxies check requests of any method.
      if (path === '/auth/verify') continue;
      const own = Object.keys(operations)
        .map((method) => method.toUpperCase())
        .sort();
      const url = path.replace('{token}', 'x').replace(/\{[^}]+\}/g, user_id);
      // Node closes the connection of a CONNECT request, which has no path.
      for (const method of METHODS.filter((one) => one !== 'CONNECT' && !own.includes(one)))
        for (const secret of method === 'PUT' ? [undefined, token] : [undefined]) {
          const { statusCode, headers } = await service.inject({ method, url, headers: bearer(secret) });
          if (statusCode !== 405 || headers.allow !== own.join(', '))
            found.push(`${method} ${url} → ${statusCode} ${headers.allow}`);
        }
    }
    expect(found).toEqual([]);
  });

  it('responds to every method of an unknown path with a 404 problem (H10)', async () => {
    for (const method of METHODS.filter((one) => one !== 'CONNECT')) {
      const { statusCode, headers } = await service.inject({ method, url: '/no/such/path' });
      expect([method, statusCode, headers['content-type']]).toEqual([
        method,
        404,
        'application/problem+json; charset=utf-8',
      ]);
    }
  });

  it('responds to methods with a body with 405, and serves no invalid method (H10)', async () => {
    for (const method of ['PUT', 'QUERY', 'PROPFIND', 'TRACE', 'OPTIONS'])
      for (const headers of [{}, { 'content-type': 'application/json' }]) {
        const head = requestHead(method, '/user/list', { ...bearer(token), ...headers, 'content-length': '2' });
        const answer = await rawRequest(service.port, `${head}{}`);
        expect([method, statusOf(answer), answer.includes('request.method_not_allowed')]).toEqual([method, 405, true]);
      }
    for (const method of ['CONNECT', 'FOO', 'get', 'GET_', 'PATCH\t']) {
      const head = requestHead(method, `/user/${user_id}`, { ...bearer(token), connection: 'close' });
      const status = statusOf(await rawRequest(service.port, head));
      expect([method, [0, 400, 404, 405, 501].includes(status)]).toEqual([method, true]);
    }
  });

  it.each(['/', '/docs', '/docs/openapi.json', '/console/', '/console/users', '/health/live', '/health/ready'])(
    'responds to HEAD %s as to GET, without a body (H10)',
    async (path) => {
      const ask = async (method: string) => {
        const response = await rawRequest(service.port, requestHead(method, path, { connection: 'close' }));
        const [head = '', body] = response.split('\r\n\r\n');
        return [head.replace(/^(x-request-id|date): .*$/gim, '$1').replace(/'nonce-[^']+'/g, ''), body];
      };
      const [head, body = ''] = await ask('GET');
      expect(head).toMatch(new RegExp(`^HTTP/1.1 200 [^]*^content-length: ${body.length}\r$`, 'm'));
      expect(await ask('HEAD')).toEqual([head, '']);
    },
  );

  it('ignores a method in headers, parameters and fields (Z23)', async () => {
    const before = await storedUsers();
    for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override', 'x-method', '_method']) {
      const headers = { [name]: 'DELETE' };
      const statuses = [
        await service.post(`/user/${user_id}`, { token, headers }),
        await service.get(`/user/${user_id}`, { token, headers }),
        await service.patch(`/user/${user_id}`, { token, headers, body: {} }),
        await service.post('/user/all?everyone=true', { token, headers }),
        await service.get('/user/list', { headers: { [name]: 'OPTIONS' } }),
      ].map(({ status }) => status);
      expect([name, statuses]).toEqual([name, [405, 200, 200, 405, 401]]);
    }
    for (const parameter of ['_method=DELETE', 'method=DELETE', 'X-HTTP-Method-Override=DELETE'])
      expect((await service.get(`/user/${user_id}?${parameter}`, { token })).status).toBe(400);
    expect((await service.patch(`/user/${user_id}`, { token, body: { _method: 'DELETE' } })).status).toBe(400);
    expect(await storedUsers()).toEqual(before);
  });

  it('changes nothing by requests that a foreign page can send without a preflight (H12)', async () => {
    const types = ['text/plain', 'text/plain;charset=utf-8', 'multipart/form-data; boundary=x'];
    for (const type of [...types, 'application/x-www-form-urlencoded']) {
      const cookie = `token=${token}; access_token=${token}; authorization=Bearer ${token}`;
      const headers = { 'content-type': type, cookie, origin: 'https://evil.test' };
      const body = JSON.stringify({ first_name: 'forged' });
      const logout = `{"refresh_token":"${service.admin.refresh_token}"}`;
      const statuses = [
        await service.post('/user/create', { body, headers }),
        await service.patch(`/user/${user_id}`, { body, headers }),
        await service.post('/auth/logout', { body: logout, headers: { 'content-type': type } }),
      ].map(({ status }) => status);
      expect([type, statuses]).toEqual([type, [401, 401, 415]]);
      expect((await service.get(`/user/${user_id}`, { token })).body.first_name).toBe('');
    }
  });

  it('changes nothing by GET, except the time of last use and the audit event of an export (H13)', async () => {
    const invited = await service.createUser({ name: 'invited', email: 'invited@example.com', password: undefined });
    const mail = await service.mailbox.take('invited@example.com');
    // Without the stored counts of the overview: the first GET refreshes them.
    const tables = (await tableNames(service)).filter((name) => /^public\.(?!login_counts|overview_)/.test(name));
    const state = async () => {
      const rows: Record<string, unknown> = {};
      for (const name of tables)
        rows[name] = await service.rows(`
          select to_jsonb(t) - 'last_seen_at' as fields
          from ${name} t
          where to_jsonb(t) ->> 'event_type' is distinct from 'user.exported'
          order by 1`);
      return rows;
    };
    const before = await state();
    for (const name of ['users', 'sessions', 'credentials', 'one_time_tokens', 'events'])
      expect(before[`public.${name}`]).not.toEqual([]);
    const gets = Object.entries(document.paths)
      .filter(([, operations]) => operations['get'] !== undefined)
      .map(([path]) => path.replace('{token}', mail.token ?? '').replace(/\{[^}]+\}/g, invited.user_id));
    expect(gets.length).toBeGreaterThan(8);
    for (const url of [...gets, '/docs', '/docs/errors'])
      for (const accept of ['application/json', 'text/html'])
        for (const secret of [token, undefined])
          await service.get(url, { headers: { accept }, ...(secret === undefined ? {} : { token: secret }) });
    expect(await state()).toEqual(before);
  });

  it('serves nothing beside the documented paths, and no metrics without METRICS_TOKEN (H20)', async () => {
    const found: string[] = [];
    for (const url of leftovers)
      for (const secret of [undefined, token]) {
        const { statusCode, body } = await service.inject({ url, headers: bearer(secret) });
        const isDenied = url === '/metrics' ? statusCode === 404 : [401, 404, 405].includes(statusCode);
        if (!isDenied || /\/node_modules\/|SELECT|postgres:\/\//.test(body)) found.push(`${url} → ${statusCode}`);
      }
    expect(found).toEqual([]);
    expect(leftovers.length).toBeGreaterThan(100);
  });
});

/** Returns every twelfth item, beginning at another one for each index. */
function someOf<Item>(items: Item[], index: number): Item[] {
  return items.filter((_, position) => (position + index) % 12 === 0);
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
