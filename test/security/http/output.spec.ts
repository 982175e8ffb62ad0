import { randomUUID } from 'node:crypto';
import { version } from '../../../src/common/project';
import { allNaughtyStrings } from '../../support/naughty-strings';
import { bodyOperations, queryOperations } from '../../support/body-operations';
import { assertDocumented } from '../../support/document';
import { password, type TestAnswer, TestService } from '../../support/service';

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

describe('response headers and bodies', () => {
  let service: TestService;
  let token: string;
  let user_id: string;
  /** a response with each status */
  let samples: TestAnswer[];

  beforeAll(async () => {
    service = await TestService.start({
      PUBLIC_URL: 'https://identity.example.net',
      CORS_ORIGINS: 'https://portal.example.net',
    });
    ({ token } = service.admin);
    ({ user_id } = await service.createUser());
    samples = await answersOfEachKind();
    expect(new Set(samples.map(({ status }) => status))).toEqual(
      new Set([200, 201, 202, 204, 400, 401, 403, 404, 405, 409, 412, 413, 415]),
    );
  });
  afterAll(() => service.close());

  async function answersOfEachKind(): Promise<TestAnswer[]> {
    const member = await service.loginAs({ roles: ['carrier_user'] });
    const create = (name: string) =>
      service.post('/user/create', {
        token,
        body: { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com`, password },
      });
    return [
      await service.get('/user', { token }),
      await service.get('/user/list', { token }),
      await service.get('/health/live'),
      await service.post('/auth/login', { body: { login: 'admin@example.com', password } }),
      await service.post('/auth/check-token', { body: { token } }),
      await create('sampled'),
      await service.post('/auth/reset_email', { body: { email: 'sampled@example.com' } }),
      await service.delete(`/auth/session/${member.session_id}`, { token }),
      await service.get('/user/list?x=1', { token }),
      await service.patch(`/user/${user_id}`, { token, body: '{', headers: { 'content-type': 'application/json' } }),
      await service.get('/user'),
      await service.post('/auth/login', { body: { login: 'admin@example.com', password: 'wrong' } }),
      await service.get('/audit/list', { token: (await service.login(member.name)).token }),
      await service.get(`/user/${randomUUID()}`, { token }),
      await service.get(`/auth/reset/${'A'.repeat(43)}`),
      await service.get('/nowhere'),
      await service.delete('/user', { token }),
      await create('sampled'),
      await service.patch(`/user/${user_id}`, { token, body: { first_name: 'x' }, headers: { 'if-match': '"99"' } }),
      await service.patch(`/user/${user_id}`, { token, body: { first_name: 'x'.repeat(70_000) } }),
      await service.post('/user/create', { token, body: 'x', headers: { 'content-type': 'text/plain' } }),
    ];
  }

  it('sends security headers and no-store with every kind of response (O1, O2)', () => {
    for (const { status, headers } of samples) {
      expect({ status, ...headers }).toMatchObject({
        'x-content-type-options': 'nosniff',
        'strict-transport-security': 'max-age=31536000; includeSubDomains',
        'referrer-policy': 'no-referrer',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-frame-options': 'DENY',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': 'no-store',
        'x-request-id': expect.stringMatching(/^[A-Za-z0-9._-]{1,64}$/),
      });
      expect(headers['set-cookie']).toBeUndefined();
    }
  });

  it('lets the public keys be cached for five minutes, and nothing else (O2)', async () => {
    const { headers } = await service.get('/.well-known/jwks.json');
    expect(headers['cache-control']).toBe('public, max-age=300');
    expect(samples.filter((sample) => sample.headers['cache-control'] !== 'no-store')).toEqual([]);
  });

  it('names no software, and its own version only in /health and at its root (O3)', async () => {
    for (const { headers, text } of samples) {
      expect(
        Object.keys(headers).filter((name) => /^(server|x-powered-by|x-aspnet|via|x-runtime|x-version)/.test(name)),
      ).toEqual([]);
      expect(JSON.stringify(headers) + text).not.toMatch(/fastify|nestjs|express|node\.js|postgres|typeorm/i);
    }
    expect(samples.filter(({ text }) => text.includes(version)).map(({ body }) => body)).toEqual([
      { status: 'ok', version },
    ]);
    expect((await service.get('/health/ready')).body).toEqual({ status: 'ok', version });
    const base = 'https://identity.example.net';
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
  });

  it('redirects a browser from the root to the console', async () => {
    const { status, headers } = await service.get('/', { headers: { accept: 'text/html,*/*;q=0.8' } });
    expect([status, headers['location']]).toEqual([302, 'https://identity.example.net/console/']);
  });

  it('responds to HEAD as to GET on its pages and the document, without a body', async () => {
    const { url } = await service.listen();
    const paths = ['/', '/docs', '/docs/openapi.json', '/console/', '/console/users'];
    for (const path of paths) {
      const answer = await fetch(`${url}${path}`, { method: 'HEAD' });
      expect([path, answer.status, await answer.text()]).toEqual([path, 200, '']);
    }
  });

  it('reveals nothing to a rejected origin, not even in errors (O4)', async () => {
    for (const origin of [
      'https://evil.test',
      'https://portal.example.net.evil.test',
      'http://portal.example.net',
      'null',
    ])
      for (const url of ['/user', '/nowhere', '/user/list?x=1', '/health/live']) {
        const { headers } = await service.get(url, { token, headers: { origin } });
        expect(
          Object.entries(headers).filter(
            ([name, value]) => name.startsWith('access-control-allow') && (value === '*' || value === origin),
          ),
        ).toEqual([]);
        expect(headers['access-control-allow-credentials']).toBeUndefined();
      }
    expect(
      (await service.get('/user', { headers: { origin: 'https://portal.example.net' } })).headers[
        'access-control-allow-origin'
      ],
    ).toBe('https://portal.example.net');
  });

  it('sends exact content types, and none with empty responses (O5)', () => {
    for (const { status, headers, text } of samples) {
      const type = status >= 400 ? 'application/problem+json; charset=utf-8' : 'application/json; charset=utf-8';
      expect([status, headers['content-type']]).toEqual([status, text === '' ? undefined : type]);
      expect([status, text === '']).toEqual([status, status === 204]);
    }
  });

  it('sends problem details without internals in a thousand rejections (O6)', async () => {
    const texts = [
      ...allNaughtyStrings,
      '\u0000',
      '{"$gt":""}',
      "1' and (select 1 from pg_sleep(0))--",
      'x'.repeat(300),
      '1e999',
      '9'.repeat(30),
    ];
    const bodies = bodyOperations(user_id).filter(({ url }) => !url.startsWith('/auth/log'));
    const fields = bodies.flatMap((operation) =>
      operation.fields.map((field) => ({ ...operation, field: field.name })),
    );
    const queries = queryOperations()
      .filter(([method]) => method === 'GET')
      .flatMap(([, path, names]) => names.map((name) => `${path}?${name}=`));
    let refusals = 0;
    const strange: string[] = [];
    for (let round = 0; round < 1_100; round++) {
      const text = texts[round % texts.length] ?? '';
      const { method, url, field } = fields[(round * 7) % fields.length]!;
      const answer =
        round % 2 === 0
          ? await service.send(method, url, { token, body: { [field]: [{ [text]: text }] } })
          : await service.get(`${queries[(round * 11) % queries.length]}%00${encodeURIComponent(text)}`, { token });
      const { type, title, status, detail, instance, code, request_id, errors = [], ...rest } = answer.body;
      refusals += Number(status === answer.status && status >= 400 && status < 500);
      const shown = JSON.stringify([
        title,
        detail,
        errors.map((error: { detail: string; code: string }) => [error.detail, error.code]),
      ]);
      const complete =
        type === `https://identity.example.net/docs/errors/${code}` &&
        request_id === answer.headers['x-request-id'] &&
        typeof instance === 'string';
      if (!complete || Object.keys(rest as object).length > 0 || internal.test(shown)) strange.push(answer.text);
    }
    expect(strange).toEqual([]);
    expect(refusals).toBe(1_100);
  });

  it('reveals nothing about an internal error but its request id (O6)', async () => {
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

  it('never repeats a password, a token or the input beside them in errors (O7)', async () => {
    const canary = `canary-${randomUUID()}`;
    const common = { user_type: 'carrier', carrier_id: 'c1', name: 'canary', email: 'canary@example.com' };
    const answers = [
      await service.post('/user/create', { token, body: { ...common, password: `${canary}\u0000` } }),
      await service.post('/user/create', { token, body: { ...common, password: [canary] } }),
      await service.post('/user/create', { token, body: { ...common, password: `${canary}canary@example.com` } }),
      await service.post('/user/create', {
        token,
        body: { ...common, password: canary.slice(0, 8), [canary]: canary },
      }),
      await service.post('/user/create', {
        token,
        body: `{"password":"${canary}`,
        headers: { 'content-type': 'application/json' },
      }),
      await service.post('/auth/login', { body: { login: canary, password: canary } }),
      await service.post('/auth/login', { body: { login: 'admin@example.com', password: canary, otp: 1 } }),
      await service.post('/auth/password', { token, body: { current_password: canary, new_password: canary } }),
      await service.post('/auth/check-token', { body: { token: canary } }),
      await service.post('/auth/check-token', { body: { refresh_token: canary.repeat(9) } }),
      await service.get('/user', { token: canary }),
      await service.get('/user', { headers: { 'x-auth-token': canary, authorization: `Basic ${canary}` } }),
      await service.get(`/auth/reset/${canary}`),
      await service.post(`/auth/reset/${canary}`, { body: { password: 'short' } }),
      await service.get(`/auth/email/${canary}`),
      await service.get(`/user/list?q=${canary}&token=${canary}&per_page=${canary}`, { token }),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.status >= 400 && answer.status < 500]).toEqual([answer.status, true]);
      const withoutNames = answer.text.replace(`"pointer":"/${canary}"`, '');
      expect(JSON.stringify(answer.headers) + withoutNames).not.toContain(canary.slice(7, 20));
    }
  });

  it('sends exactly the documented fields (O8)', async () => {
    const { text } = await service.get(`/user/${user_id}`, { token });
    const tampered = JSON.stringify({ ...JSON.parse(text), password_hash: 'x' });
    expect(() => assertDocumented('GET', `/user/${user_id}`, 200, 'application/json', tampered)).toThrow(
      /additional properties/,
    );
    const secrets = (await service.rows<{ hash: string }>('select password_hash as hash from credentials')).map(
      ({ hash }) => hash.slice(-20),
    );
    expect(secrets.length).toBeGreaterThan(1);
    for (const url of ['/user', '/user/list', '/audit/list?per_page=500', '/auth/session/list', '/role/list']) {
      const answer = await service.get(url, { token });
      expect(secrets.filter((secret) => answer.text.includes(secret))).toEqual([]);
      expect(answer.text).not.toMatch(
        /"(password|password_hash|hash|token_hash|search_text|refresh_token|secret)"|\$argon2/,
      );
    }
  });
});
