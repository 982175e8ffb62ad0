import { METHODS } from 'node:http';
import { bodyOperations } from '../support/body-operations';
import { document } from '../support/document';
import { requestHead } from '../support/raw-connection';
import { rawRequest, statusOf } from '../support/raw-request';
import { TestService } from '../support/service';
import { tableNames } from '../support/tables';
import { unexpectedResponses } from '../support/unexpected-responses';

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

describe('methods, media types and undocumented paths', () => {
  let service: TestService;
  let user_id: string;
  let token: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    ({ user_id } = await service.createUser());
  });
  afterAll(() => service.close());

  const bearer = (secret?: string): Record<string, string> =>
    secret === undefined ? {} : { authorization: `Bearer ${secret}` };

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

  it.each([
    'password=a&password=b',
    'password[]=x',
    '__proto__=x&password=y',
    'password=x&is_admin=1',
    'password=%00',
    '',
  ])('rejects the form "%s" on the page of a link (H2)', async (body) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await service.post(`/auth/reset/${'A'.repeat(43)}`, { body, headers })).status).toBe(400);
  });

  it('responds to every other method of a known path with 405 and Allow, with any login (H10)', async () => {
    const found: string[] = [];
    for (const [path, operations] of Object.entries(document.paths)) {
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

  it.each(['/health/live', '/health/ready'])('responds to HEAD %s as to GET, without a body (H10)', async (path) => {
    const ask = async (method: string) => {
      const response = await rawRequest(service.port, requestHead(method, path, { connection: 'close' }));
      const [head = '', body] = response.split('\r\n\r\n');
      return [head.replace(/^(x-request-id|date): .*$/gim, '$1'), body];
    };
    const [head, body = ''] = await ask('GET');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 200 [^]*^content-length: ${body.length}\r$`, 'm'));
    expect(await ask('HEAD')).toEqual([head, '']);
  });

  it('ignores a method in headers, parameters and fields (Z23)', async () => {
    const before = await service.rows('select user_id, version, deleted_at from users order by user_id');
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
    expect(await service.rows('select user_id, version, deleted_at from users order by user_id')).toEqual(before);
  });

  it.each([
    'text/plain',
    'text/plain;charset=utf-8',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
  ])('changes nothing by a request with %s, which a foreign page can send without a preflight (H12)', async (type) => {
    const body = JSON.stringify({ first_name: 'forged' });
    const headers = {
      'content-type': type,
      cookie: `token=${token}; access_token=${token}; authorization=Bearer ${token}`,
      origin: 'https://evil.test',
    };
    expect(await service.post('/user/create', { body, headers })).toMatchObject({ status: 401 });
    expect(await service.patch(`/user/${user_id}`, { body, headers })).toMatchObject({ status: 401 });
    const logout = `{"refresh_token":"${service.admin.refresh_token}"}`;
    expect(await service.post('/auth/logout', { body: logout, headers: { 'content-type': type } })).toMatchObject({
      status: 415,
    });
    expect((await service.get(`/user/${user_id}`, { token })).body.first_name).toBe('');
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
        const { statusCode, payload } = await service.inject({ url, headers: bearer(secret) });
        const isDenied = url === '/metrics' ? statusCode === 404 : [401, 404, 405].includes(statusCode);
        if (!isDenied || /\/node_modules\/|SELECT|postgres:\/\//.test(payload)) found.push(`${url} → ${statusCode}`);
      }
    expect(found).toEqual([]);
    expect(leftovers.length).toBeGreaterThan(100);
  });
});
