import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../src/platform/project';
import { bodyOperations, queryOperations } from '../support/contract/body-operations';
import { assertDocumented } from '../support/contract/document';
import { parseScrape } from '../support/metrics';
import { allNaughtyStrings } from '../support/contract/naughty-strings';
import { adminEmail, type TestAnswer, type TestLogin, type TestRequest, TestService } from '../support/service';

const base = 'https://identity.example.net';
const METRICS_TOKEN = 'prometheus-0123456789-abcdefghijklmnop';
const allowed = ['https://good.test', 'https://portal.example.net:8443'];
/** Origins that a loose comparison would allow. */
const refused = [
  ...['https://good.test.evil', 'https://evil.good.test', 'https://notgood.test', 'https://good.testing', '*'],
  ...['http://good.test', 'https://good.test:8443', 'https://good.test:443', 'https://portal.example.net'],
  ...['https://good.test/', 'https://GOOD.TEST', 'https://good.test,https://evil.test', 'https://good.test@evil.test'],
  ...['https://good.test\\.evil.test', 'https://goodxtest', 'null', 'file://', 'https://evil.test'],
];

const assets = readdirSync(join(__dirname, '../../dist/console/assets'));
const script = assets.find((name) => /^index-.+\.js$/.test(name)) ?? '';
const nonceOf = (policy: unknown) => /'nonce-([A-Za-z0-9_-]{43})'/.exec(String(policy))?.[1];

/** Texts that reveal internals. */
const internal = new RegExp(
  [
    String.raw`\bat .+\(.*:\d+|\bat .+\.(ts|js):\d+|/src/|/dist/|node_modules`,
    String.raw`\bSELECT |\bselect .+ from |relation "|column "|constraint|violates|duplicate key|QueryFailedError`,
    'ECONN|FST_ERR|HPE_|ERR_[A-Z]|TypeError|ReferenceError|SyntaxError|Unexpected token',
    'class-validator|Nest|fastify|typeorm|postgres|passport',
  ].join('|'),
  'i',
);

let service: TestService;
let token: string;
let user_id: string;
let member: TestLogin;

beforeAll(async () => {
  service = await TestService.start({ PUBLIC_URL: base, CORS_ORIGINS: allowed.join(','), METRICS_TOKEN });
  ({ token } = service.admin);
  ({ user_id } = await service.createUser({ name: 'sampled', email: 'sampled@example.com' }));
  member = await service.loginAs({ roles: ['carrier_user'] });
});
afterAll(() => service.close());

const json = { 'content-type': 'application/json' };

function newUser(): Record<string, unknown> {
  const name = `new-${randomUUID().slice(0, 13)}`;
  return { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com` };
}

/** Returns one request for each part of the service that creates responses. */
function kinds(): [kind: string, status: number, method: string, url: string, request?: TestRequest][] {
  const version99 = { token, body: {}, headers: { 'if-match': '"99"' } };
  const text = { token, body: 'x', headers: { 'content-type': 'text/plain' } };
  return [
    ['a handler', 200, 'GET', '/user', { token: member.token }],
    ['a public handler', 200, 'GET', '/health/live'],
    ['a created user', 201, 'POST', '/user/create', { token, body: newUser() }],
    ['an accepted request', 202, 'POST', '/auth/reset_email', { body: { email: 'sampled@example.com' } }],
    ['a response without content', 204, 'DELETE', `/user/${user_id}`, { token }],
    ['check-token', 200, 'POST', '/auth/check-token', { body: { token: member.token } }],
    ['check-token, refused', 401, 'POST', '/auth/check-token', { body: { token: 'a.b.c' } }],
    ['the guard, without a token', 401, 'GET', '/user'],
    ['a failed login', 401, 'POST', '/auth/login', { body: { login: 'nobody', password: 'wrong' } }],
    ['the guard, without the permission', 403, 'GET', '/audit/list', { token: member.token }],
    ['validation', 400, 'POST', '/auth/login', { body: { nothing: 1 } }],
    ['the body parser', 400, 'POST', '/auth/login', { body: '{', headers: json }],
    ['a missing user', 404, 'GET', `/user/${randomUUID()}`, { token }],
    ['the router', 404, 'GET', '/nowhere'],
    ['a link that is not valid', 404, 'GET', `/auth/reset/${'A'.repeat(43)}`],
    ['a wrong method', 405, 'DELETE', '/user'],
    ['a conflict', 409, 'POST', '/user/create', { token, body: { ...newUser(), email: adminEmail } }],
    ['another version', 412, 'PATCH', `/user/${member.user_id}`, version99],
    ['a large body', 413, 'PATCH', `/user/${user_id}`, { token, body: { first_name: 'x'.repeat(70_000) } }],
    ['another media type', 415, 'POST', '/user/create', text],
  ];
}

describe('responses of all kinds', () => {
  it('have security headers, no-store, an exact content type and no name of software (O1, O2, O3, O5)', async () => {
    for (const [kind, status, method, url, request] of kinds()) {
      const { status: sent, headers, text } = await service.send(method, url, request);
      const type = status >= 400 ? 'application/problem+json; charset=utf-8' : 'application/json; charset=utf-8';
      const found = { kind, status: sent, empty: text === '', ...headers };
      expect(found).toMatchObject({
        kind,
        status,
        empty: status === 204,
        ...(status === 204 ? {} : { 'content-type': type }),
        'x-content-type-options': 'nosniff',
        'strict-transport-security': 'max-age=31536000; includeSubDomains',
        'referrer-policy': 'no-referrer',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-frame-options': 'DENY',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': 'no-store',
        'x-request-id': expect.stringMatching(/^[A-Za-z0-9._-]{1,64}$/),
      });
      const software = /^(set-cookie|server|x-powered-by|x-aspnet.*|via|x-runtime|x-version.*)$/;
      expect([kind, Object.keys(headers).filter((name) => software.test(name))]).toEqual([kind, []]);
      expect(JSON.stringify(headers) + text).not.toMatch(/fastify|nestjs|express|node\.js|postgres|typeorm/i);
      expect(text.includes(version)).toBe(url === '/health/live');
    }
  });

  it('can be read by allowed origins only, and always vary by Origin (H19, O4)', async () => {
    // Some kinds return another status the second time: the headers are the same.
    for (const origin of [undefined, allowed[1], 'https://good.test.evil'])
      for (const [kind, , method, url, request] of kinds()) {
        const sent = { ...request?.headers, ...(origin === undefined ? {} : { origin }) };
        const { headers } = await service.send(method, url, { ...request, headers: sent });
        const allows = Object.entries(headers).filter(([name]) => name.startsWith('access-control-allow'));
        const wanted = origin === allowed[1] ? [['access-control-allow-origin', origin]] : [];
        expect([kind, headers.vary, allows]).toEqual([kind, 'Origin', wanted]);
      }
  });
});

describe('preflights', () => {
  const preflight = (url: string, origin: string) =>
    service.inject({
      method: 'OPTIONS',
      url,
      headers: {
        origin,
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'authorization,content-type',
      },
    });

  it('allow all methods to allowed origins for ten minutes, without credentials (H19)', async () => {
    for (const url of ['/user', '/auth/check-token', '/user/x'])
      for (const origin of allowed) {
        const { statusCode, headers } = await preflight(url, origin);
        expect([url, statusCode, headers['access-control-allow-credentials']]).toEqual([url, 204, undefined]);
        expect(headers).toMatchObject({
          'access-control-allow-origin': origin,
          'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
          'access-control-max-age': '600',
          vary: expect.stringContaining('Origin'),
        });
      }
  });

  it('allow nothing to other origins, as do the responses after them (H19, O4)', async () => {
    for (const origin of refused) {
      const { headers } = await preflight('/user', origin);
      expect([origin, headers['access-control-allow-origin'], headers.vary]).toEqual([
        origin,
        undefined,
        expect.stringContaining('Origin'),
      ]);
      const answer = await service.get('/user', { token, headers: { origin } });
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control-allow'))).toEqual([]);
    }
  });
});

it('sends the same headers for check-token from memory as through the framework (H19)', async () => {
  const send = (request: TestRequest = {}) =>
    service.post('/auth/check-token', { body: { token: member.token }, ...request });
  await send();
  const names = ({ headers }: TestAnswer) => Object.keys(headers).sort();
  // This header forces the way through the framework.
  expect(names(await send())).toEqual(names(await send({ ip: '192.0.2.1' })));
});

it('lets the public keys be cached for five minutes (O2)', async () => {
  expect((await service.get('/.well-known/jwks.json')).headers['cache-control']).toBe('public, max-age=300');
});

it('names its version only in /health and at its root, which links to the parts of the service (O3)', async () => {
  expect((await service.get('/health/ready')).body).toEqual({ status: 'ok', version });
  expect((await service.get('/')).body).toEqual({
    name: 'carrier-identity',
    version,
    links: {
      console: `${base}/console/`,
      docs: `${base}/docs`,
      openapi: `${base}/docs/openapi.json`,
      jwks: `${base}/.well-known/jwks.json`,
      live: `${base}/health/live`,
      ready: `${base}/health/ready`,
    },
  });
  const { status, headers } = await service.get('/', { headers: { accept: 'text/html,*/*;q=0.8' } });
  expect([status, headers['location']]).toEqual([302, `${base}/console/`]);
});

describe('errors', () => {
  it('are problem details without internals, for hostile values in every field and parameter (O6)', async () => {
    const texts = [...allNaughtyStrings, '\u0000', '{"$gt":""}', 'x'.repeat(300), '1e999', '9'.repeat(30)];
    const bodies = bodyOperations(member.user_id).filter(({ url }) => !url.startsWith('/auth/log'));
    const fields = bodies.flatMap(({ method, url, fields: all }) => all.map(({ name }) => ({ method, url, name })));
    const queries = queryOperations()
      .filter(([method]) => method === 'GET')
      .flatMap(([, path, names]) => names.map((name) => `${path}?${name}=`))
      // Most parameters of the lists have the same parsers.
      .filter((_, index) => index % 5 === 0);
    const found: string[] = [];
    const check = ({ status: sent, body, headers, text }: TestAnswer) => {
      const { type, title, status, detail, instance, code, request_id, errors = [], ...rest } = body;
      delete rest.errors_omitted;
      const shown = JSON.stringify([
        title,
        detail,
        errors.map((error: { detail: string; code: string }) => [error.detail, error.code]),
      ]);
      const isComplete =
        status === sent &&
        [400, 401, 403, 404, 409, 415, 422].includes(sent) &&
        type === `${base}/docs/errors/${code}` &&
        request_id === headers['x-request-id'] &&
        typeof instance === 'string';
      if (!isComplete || Object.keys(rest as object).length > 0 || internal.test(shown)) found.push(text);
    };
    for (const [index, { method, url, name }] of fields.entries()) {
      const text = texts[index % texts.length] ?? '';
      check(await service.send(method, url, { token, body: { [name]: [{ [text]: text }] } }));
    }
    for (const [index, query] of queries.entries())
      check(await service.get(`${query}%00${encodeURIComponent(texts[index % texts.length] ?? '')}`, { token }));
    expect(found).toEqual([]);
  });

  it('reveal nothing about an internal error but its request id (O6)', async () => {
    await service.rows('alter table roles rename to roles_hidden');
    try {
      const { status, body } = await service.get('/role/list', { token });
      expect([500, 401, 503]).toContain(status);
      expect(`${body.title} ${body.detail}`).not.toMatch(internal);
      expect(body.request_id).toMatch(/^[0-9a-f-]{36}$/);
    } finally {
      await service.rows('alter table roles_hidden rename to roles');
    }
    expect(await service.get('/role/list', { token })).toMatchObject({ status: 200 });
  });

  const canary = `canary-${randomUUID()}`;
  it.each<[title: string, method: string, url: string, request: TestRequest]>([
    ['a password with NUL', 'POST', '/user/create', { body: { ...newUser(), password: `${canary}\0` } }],
    ['a password in a list', 'POST', '/user/create', { body: { ...newUser(), password: [canary] } }],
    ['a password in the name', 'POST', '/user/create', { body: { ...newUser(), name: canary, password: canary } }],
    ['an unknown field', 'POST', '/user/create', { body: { ...newUser(), password: 'short', [canary]: canary } }],
    ['malformed JSON', 'POST', '/user/create', { body: `{"password":"${canary}`, headers: json }],
    ['a login', 'POST', '/auth/login', { body: { login: canary, password: canary } }],
    ['a second factor', 'POST', '/auth/login', { body: { login: adminEmail, password: canary, otp: 1 } }],
    ['a change of password', 'POST', '/auth/password', { body: { current_password: canary, new_password: canary } }],
    ['a token', 'POST', '/auth/check-token', { body: { token: canary } }],
    ['a refresh token', 'POST', '/auth/check-token', { body: { refresh_token: canary.repeat(9) } }],
    ['an access token', 'GET', '/user', { token: canary }],
    ['other headers', 'GET', '/user', { headers: { 'x-auth-token': canary, authorization: `Basic ${canary}` } }],
    ['a link', 'GET', `/auth/reset/${canary}`, {}],
    ['a link with a password', 'POST', `/auth/reset/${canary}`, { body: { password: 'short' } }],
    ['a link to an address', 'GET', `/auth/email/${canary}`, {}],
    ['parameters', 'GET', `/user/list?q=${canary}&token=${canary}&per_page=${canary}`, {}],
  ])('never repeat a secret of the request: %s (O7)', async (_title, method, url, request) => {
    const hasLogin = request.token === undefined && request.headers?.['authorization'] === undefined;
    const { status, headers, text } = await service.send(method, url, { ...(hasLogin ? { token } : {}), ...request });
    expect([status, status >= 400 && status < 500]).toEqual([status, true]);
    const withoutNames = text.replace(`"pointer":"/${canary}"`, '');
    expect(JSON.stringify(headers) + withoutNames).not.toContain(canary.slice(7, 20));
  });
});

it('sends exactly the documented fields (O8)', async () => {
  const { text } = await service.get(`/user/${member.user_id}`, { token });
  const tampered = JSON.stringify({ ...JSON.parse(text), password_hash: 'x' });
  expect(() => assertDocumented('GET', `/user/${member.user_id}`, 200, 'application/json', tampered)).toThrow(
    /additional properties/,
  );
  const rows = await service.rows<{ hash: string }>('select password_hash as hash from credentials');
  expect(rows.length).toBeGreaterThan(1);
  for (const url of ['/user', '/user/list', '/audit/list?per_page=500', '/auth/session/list', '/role/list']) {
    const answer = await service.get(url, { token });
    expect(rows.filter(({ hash }) => answer.text.includes(hash.slice(-20)))).toEqual([]);
    expect(answer.text).not.toMatch(
      /"(password|password_hash|hash|token_hash|search_text|refresh_token|secret)"|\$argon2/,
    );
  }
});

describe('metrics', () => {
  const scrape = () => service.get('/metrics', { token: METRICS_TOKEN });

  it('reject every token except METRICS_TOKEN, also the access token of an administrator (O15)', async () => {
    const [part, password] = [METRICS_TOKEN.slice(0, -1), btoa(`x:${METRICS_TOKEN}`)];
    const wrong = [`Bearer ${token}`, 'Bearer ', `Bearer ${part}y`, `Bearer ${part}`, `Bearer ${METRICS_TOKEN}x`];
    for (const authorization of [...wrong, `Basic ${password}`]) {
      const { status, body } = await service.get('/metrics', { headers: { authorization } });
      expect([authorization, status, body.code]).toEqual([authorization, 401, 'auth.token_invalid']);
    }
    for (const name of ['x-auth-token', 'x-other'])
      expect((await service.get('/metrics', { headers: { [name]: METRICS_TOKEN } })).body.code).toBe(
        'auth.token_missing',
      );
    const { status, headers } = await scrape();
    expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
  });

  it('have a bounded number of series for any paths, methods and ids, and contain no personal data', async () => {
    /** Returns the names of all series except recurring jobs, which appear only during a run. */
    const series = async () =>
      [...parseScrape((await scrape()).text).keys()].filter(
        (name) => !/^carrier_identity_job(s|_age_seconds)\{/.test(name),
      );
    const send = async (round: number) => {
      for (let request = 0; request < 10; request++) {
        const name = `${round}-${request}-${randomUUID()}`;
        await service.get(`/${name}`);
        await service.get(`/user/${name}`, { token });
        await service.get(`/docs/errors/${name}`);
        await service.post('/auth/login', { body: { login: name, password: name } });
      }
      for (const method of ['GET', 'PUT', 'PURGE', 'PROPFIND']) await service.send(method, '/mail/list');
      await service.get('/user/list?email=confidential@example.com', { token });
      await service.get(`/user/${member.user_id}`, { token });
    };
    await send(1);
    // The first scrape adds the series of scrapes.
    await scrape();
    const before = await series();
    await send(2);
    expect((await series()).filter((name) => !before.includes(name))).toEqual([]);
    const { text } = await scrape();
    expect(text).toContain('/user/{user_id}');
    const personal = [member.user_id, member.token, member.session_id, adminEmail, 'confidential', '127.0.0.1'];
    for (const value of [...personal, METRICS_TOKEN]) expect(text).not.toContain(value);
  });
});

describe('the files of the console', () => {
  const get = (path: string, headers: Record<string, string> = {}) =>
    service.inject({ url: `/console${path}`, headers });

  it('are a page with a strict policy at each path of the console, with a new nonce for each response', async () => {
    const nonces = new Set<string | undefined>();
    const paths = ['', '/', '/users', '/login?from=x', '/roles/support.eu', '/roles/support.eu?from=index.js'];
    for (const path of paths) {
      const { statusCode, headers, body } = await get(path);
      expect([path, statusCode, headers['cache-control']]).toEqual([path, 200, 'no-cache']);
      // Gives pages that open the console no handle to its window.
      expect(headers['cross-origin-opener-policy']).toBe('same-origin');
      expect(body).toContain('<base href="/console/" />');
      const policy = String(headers['content-security-policy']);
      expect(policy).toMatch(/default-src 'none'; script-src 'self'; .*require-trusted-types-for 'script'/);
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(body).toContain(`nonce="${nonceOf(policy)}"`);
      nonces.add(nonceOf(policy));
    }
    expect(nonces.size).toBe(paths.length);
  });

  it('are compressed and immutable if they are assets, and reject unmet ranges and conditions', async () => {
    const { statusCode, headers } = await get(`/assets/${script}`, { 'accept-encoding': 'br' });
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-encoding': 'br',
      vary: 'Origin, accept-encoding',
      'x-content-type-options': 'nosniff',
    });
    const unmet = { range: 'bytes=99999999-', 'if-match': '"other"' };
    for (const [name, value] of Object.entries(unmet))
      expect((await get(`/assets/${script}`, { [name]: value })).statusCode).toBe(400);
  });

  it('return 404 at unknown paths, and 405 for other methods', async () => {
    const unknown = [
      ...['/assets/', '/assets/nothing-12345678.js', '/assets/../index.html', '/package.json', '/index.html'],
      ...['/roles.js', '/roles/support.eu/index.js', '/users/support.eu', '/x/console/roles/support.eu'],
      ...['/assets/roles/support.eu', '/assets/%2e%2e/index.html', `/assets/${'x'.repeat(300)}`],
      ...[`/assets/${'x'.repeat(250)}.js`, `/assets/${'x/'.repeat(3_000)}`],
    ];
    for (const path of unknown) {
      const { statusCode, headers } = await get(path, { 'accept-encoding': 'br' });
      expect([path, statusCode, headers['content-type']]).toEqual([path, 404, expect.stringMatching('problem')]);
    }
    const { statusCode, headers } = await service.inject({ method: 'POST', url: '/console/users' });
    expect([statusCode, headers.allow]).toEqual([405, 'GET, HEAD']);
  });
});
