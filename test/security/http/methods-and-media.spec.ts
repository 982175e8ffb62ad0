import { bodyOperations } from '../../support/body-operations';
import { document } from '../../support/document';
import { requestHead } from '../../support/raw-connection';
import { rawRequest, statusOf } from '../../support/raw-request';
import { TestService } from '../../support/service';
import { tableNames } from '../../support/tables';
import { unexpectedResponses } from '../../support/unexpected-responses';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];
/** Invalid content, which a full validation rejects. */
const wrongBody = '{"unknown":true}';
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

describe('methods, media types and undocumented paths', () => {
  let service: TestService;
  let port: number;
  let user_id: string;
  let token: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    ({ user_id } = await service.createUser());
    ({ port } = await service.listen());
  });
  afterAll(() => service.close());

  const post = (type: string | null, body: string, method = 'POST', path = '/user/create') => {
    const lines = [
      `${method} ${path} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${token}`,
      ...(type === null ? [] : type.split('\n').map((one) => `Content-Type: ${one}`)),
    ];
    return rawRequest(
      port,
      `${lines.join('\r\n')}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
  };

  it('validates UTF-8 JSON in any spelling of its type, and rejects other types with 415 (H1)', async () => {
    const right = [
      'application/json',
      'APPLICATION/JSON',
      'Application/Json; Charset=UTF-8',
      'application/json;charset=utf-8',
      'application/json ; charset="utf-8"',
      'application/json\t',
      ' application/json ',
      'application/json\ntext/plain',
    ];
    const wrong = [
      'application/jsonx',
      'application/json-patch+json',
      'application/merge-patch+json',
      'application/vnd.api+json',
      'application/problem+json',
      'text/json',
      'json',
      'application/json garbage',
      'application/json, text/plain',
      'text/plain, application/json',
      'application/json;charset=utf-16',
      'application/json;charset=utf-8;charset=utf-16',
      'application/json; boundary=x',
      'application/json;',
      'application',
      '/',
      '*/*',
      'application/*',
      ' ',
      'text/plain\napplication/json',
      'application/json\u00a0',
      'multipart/form-data; boundary=application/json',
      'application/octet-stream',
      'a'.repeat(5_000),
    ];
    for (const type of right) expect([type, statusOf(await post(type, wrongBody))]).toEqual([type, 400]);
    for (const type of wrong)
      expect([type, [400, 415].includes(statusOf(await post(type, wrongBody)))]).toEqual([type, true]);
    const whole = JSON.stringify({
      user_type: 'carrier',
      carrier_id: 'c1',
      name: 'smuggled',
      email: 'smuggled@example.com',
    });
    for (const type of [...wrong, null]) expect([type, statusOf(await post(type, whole))]).toEqual([type, 415]);
    expect(await service.rows(`select 1 from users where name = 'smuggled'`)).toEqual([]);
    expect(await post('text/plain', whole)).toMatch(/^content-type: application\/problem\+json; charset=utf-8\r$/m);
  });

  it('rejects forms, multipart, XML and binary bodies where JSON is expected (H2)', async () => {
    const bodies = [
      ['application/x-www-form-urlencoded', 'first_name=x'],
      [
        'multipart/form-data; boundary=b',
        '--b\r\nContent-Disposition: form-data; name="first_name"\r\n\r\nx\r\n--b--\r\n',
      ],
      ['application/xml', '<first_name>x</first_name>'],
      ['text/xml', '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'],
      ['application/yaml', 'first_name: x'],
      ['application/x-ndjson', '{"first_name":"x"}\n{"first_name":"y"}'],
      ['application/octet-stream', '{"first_name":"x"}'],
      ['application/graphql', '{ user { name } }'],
    ] as const;
    const isForm = (url: string, type: string) => url.startsWith('/auth/reset/') && type.includes('urlencoded');
    const probes = bodyOperations(user_id).flatMap(({ method, url }) =>
      bodies.filter(([type]) => !isForm(url, type)).map(([type, body]) => ({ method, url, type, body })),
    );
    const send = ({ method, url, type, body }: (typeof probes)[number]) =>
      service.send(method, url, { token, body, headers: { 'content-type': type } });
    expect(
      await unexpectedResponses(
        probes,
        ({ url, type }) => `${url} ${type}`,
        send,
        ({ status }) => status === 415,
      ),
    ).toEqual([]);
    for (const url of [`/auth/reset/${'A'.repeat(43)}`])
      for (const body of [
        'password=a&password=b',
        'password[]=x',
        '__proto__=x&password=y',
        'password=x&is_admin=1',
        'password=%00',
        '',
      ])
        expect([
          body,
          (await service.post(url, { body, headers: { 'content-type': 'application/x-www-form-urlencoded' } })).status,
        ]).toEqual([body, 400]);
  });

  it('responds with 405 and Allow to unknown methods of a path, including TRACE and HEAD (H10)', async () => {
    const found: string[] = [];
    for (const [path, operations] of Object.entries(document.paths)) {
      const own = Object.keys(operations)
        .map((method) => method.toUpperCase())
        .sort();
      const url = path.replace('{token}', 'x').replace(/\{[^}]+\}/g, user_id);
      for (const method of methods.filter((one) => !own.includes(one)))
        for (const secret of [undefined, token]) {
          const answer = await service.app.inject({
            method: method as 'GET',
            url,
            headers: secret === undefined ? {} : { authorization: `Bearer ${secret}` },
          });
          if (answer.statusCode !== 405 || answer.headers.allow !== own.join(', '))
            found.push(`${method} ${url} → ${answer.statusCode} ${answer.headers.allow}`);
        }
    }
    expect(found).toEqual([]);
    for (const method of ['CONNECT', 'FOO', 'get', 'GET_', 'PATCH\t']) {
      const head = requestHead(method, `/user/${user_id}`, { authorization: `Bearer ${token}`, connection: 'close' });
      const status = statusOf(await rawRequest(port, head));
      expect([method, [0, 400, 404, 405, 501].includes(status)]).toEqual([method, true]);
    }
    for (const header of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'])
      expect(await service.post(`/user/${user_id}`, { token, headers: { [header]: 'DELETE' } })).toMatchObject({
        status: 405,
      });
    expect(await service.get(`/user/${user_id}`, { token })).toMatchObject({ status: 200 });
  });

  it.each(['live', 'ready'])('responds to HEAD /health/%s as to GET, without a body (H10)', async (probe) => {
    const ask = async (method: string) => {
      const response = await rawRequest(port, requestHead(method, `/health/${probe}`, { connection: 'close' }));
      const [head = '', body] = response.split('\r\n\r\n');
      return [head.replace(/^(x-request-id|date): .*$/gim, '$1'), body];
    };
    const [head, body = ''] = await ask('GET');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 200 [^]*^content-length: ${body.length}\r$`, 'm'));
    expect(await ask('HEAD')).toEqual([head, '']);
  });

  it('rejects large headers and URLs, and serves the next request (H11)', async () => {
    const ask = (line: string, headers = '') =>
      rawRequest(port, `${line} HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`);
    const big = (length: number) => `X-Big: ${'x'.repeat(length)}\r\n`;
    expect(statusOf(await ask('GET /health/live', big(16_000)))).toBe(200);
    expect(statusOf(await ask('GET /health/live', big(100_000)))).toBe(431);
    expect([400, 431]).toContain(
      statusOf(
        await ask(
          'GET /health/live',
          Array.from({ length: 1_000 }, (_, index) => `X-${index}: ${'y'.repeat(80)}\r\n`).join(''),
        ),
      ),
    );
    expect(statusOf(await ask(`GET /user/list?name=${'x'.repeat(10_000)}`, `Authorization: Bearer ${token}\r\n`))).toBe(
      400,
    );
    expect(statusOf(await ask(`GET /health/live?${'x'.repeat(100_000)}`))).toBe(431);
    for (const refusal of [await ask('GET /health/live', big(100_000)), await ask('GET /health live')]) {
      const [head = '', body = ''] = refusal.split('\r\n\r\n');
      expect(head).toMatch(/^content-type: application\/problem\+json; charset=utf-8\r?$/m);
      expect(head).toMatch(/^cache-control: no-store\r?$/m);
      expect(JSON.parse(body)).toMatchObject({
        status: statusOf(refusal),
        type: expect.stringContaining('/docs/errors/request.'),
        request_id: expect.any(String),
      });
    }
    expect(statusOf(await ask('GET /health/live'))).toBe(200);
  });

  it('changes nothing by requests that a foreign page can send without a preflight (H12)', async () => {
    const body = JSON.stringify({ first_name: 'forged' });
    for (const type of [
      'text/plain',
      'text/plain;charset=utf-8',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const cookie = {
        'content-type': type,
        cookie: `token=${token}; access_token=${token}; authorization=Bearer ${token}`,
        origin: 'https://evil.test',
      };
      expect(await service.post('/user/create', { body, headers: cookie })).toMatchObject({ status: 401 });
      expect(await service.patch(`/user/${user_id}`, { body, headers: cookie })).toMatchObject({ status: 401 });
      expect(
        await service.post('/auth/logout', {
          body: `{"refresh_token":"${service.admin.refresh_token}"}`,
          headers: { 'content-type': type },
        }),
      ).toMatchObject({ status: 415 });
    }
    expect((await service.get(`/user/${user_id}`, { token })).body.first_name).toBe('');
  });

  it('changes nothing by GET, except the time of last use and the audit event of an export (H13)', async () => {
    const invited = await service.post('/user/create', {
      token,
      body: { user_type: 'carrier', carrier_id: 'c1', name: 'invited', email: 'invited@example.com' },
    });
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
      .map(([path]) => path.replace('{token}', mail.token ?? '').replace(/\{[^}]+\}/g, invited.body.user_id));
    expect(gets.length).toBeGreaterThan(8);
    for (const url of [...gets, '/docs', '/docs/errors'])
      for (const accept of ['application/json', 'text/html'])
        for (const secret of [token, undefined])
          await service.get(url, { headers: { accept }, ...(secret === undefined ? {} : { token: secret }) });
    expect(await state()).toEqual(before);
  });

  it('serves nothing beside the documented paths (H20)', async () => {
    const found: string[] = [];
    for (const url of leftovers)
      for (const secret of [undefined, token]) {
        const { statusCode, payload } = await service.app.inject({
          method: 'GET',
          url,
          headers: secret === undefined ? {} : { authorization: `Bearer ${secret}` },
        });
        if (![401, 404, 405].includes(statusCode) || /\/node_modules\/|SELECT|postgres:\/\//.test(payload))
          found.push(`GET ${url} → ${statusCode}`);
      }
    expect(found).toEqual([]);
    expect(leftovers.length).toBeGreaterThan(100);
    const upgrade = requestHead('GET', '/health/live', {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'eA==',
      'sec-websocket-version': '13',
    });
    expect([0, 101]).not.toContain(statusOf(await rawRequest(port, upgrade)));
  });
});
