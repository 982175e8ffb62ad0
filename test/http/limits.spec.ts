import { cookieName, cookieOf, refreshTokenForm, sameOrigin } from '../support/logins/cookies';
import { adminEmail, password, type TestAnswer, type TestRequest, TestService } from '../support/service';

const perMinute = 5;
const METRICS_TOKEN = 'metrics-token-0123456789-abcdefghij';
const many = (count: number, part: (index: number) => string) => Array.from({ length: count }, (_, i) => part(i));
const fields = (count: number) => Object.fromEntries(many(count, (index) => `field${index}`).map((name) => [name, 1]));
const parameters = `?${many(201, () => 'a').join('&')}`;

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await TestService.start({
    REQUESTS_PER_ADDRESS_PER_MINUTE: String(perMinute),
    TRUST_PROXY: '127.0.0.0/8',
    METRICS_TOKEN,
  });
  ({ token } = await service.loginAs());
});
afterAll(() => service.close());

let addresses = 0;
const newAddress = () => `198.51.100.${++addresses}`;

describe('the limit per address', () => {
  async function statusesOf(send: () => Promise<TestAnswer>, count: number): Promise<number[]> {
    const statuses: number[] = [];
    for (let index = 0; index < count; index++) statuses.push((await send()).status);
    return statuses;
  }
  const all = (status: number, count: number) => Array<number>(count).fill(status);

  it.each<[kind: string, status: number, method: string, path: string, request?: TestRequest]>([
    ['the root', 200, 'GET', '/'],
    ['the explorer', 200, 'GET', '/docs'],
    ['the metadata', 200, 'GET', '/.well-known/oauth-authorization-server'],
    ['the origins of passkeys', 200, 'GET', '/.well-known/webauthn'],
    ['an unknown path', 404, 'GET', '/nothing/here'],
    ['a path with an escape', 404, 'GET', '/user/%61ll'],
    ['a wrong method', 405, 'DELETE', '/auth/login'],
    ['too many parameters', 400, 'POST', `/auth/check-token${parameters}`, { body: {} }],
    ['a body that is too large', 413, 'POST', '/auth/check-token', { body: { token: 'a'.repeat(70_000) } }],
    ['a token check without a token', 401, 'POST', '/auth/check-token', { body: {} }],
    ['a token check of a rejected token', 401, 'POST', '/auth/check-token', { body: { token: 'none of ours' } }],
    ['a token check with an unknown field', 400, 'POST', '/auth/check-token', { body: { name: 1 } }],
    ['a route without a token', 401, 'GET', '/user'],
    ['an unexpected expectation', 400, 'GET', '/', { headers: { expect: 'a surprise' } }],
    ['a request whose route and rejection both count', 400, 'GET', `/auth/reset/${'A'.repeat(43)}?x=1`],
  ])('counts %s once (H30)', async (_kind, status, method, path, request = {}) => {
    const ip = newAddress();
    const send = () => service.send(method, path, { ...request, ip });
    expect(await statusesOf(send, perMinute)).toEqual(all(status, perMinute));
    const { status: limited, body, headers } = await send();
    expect([limited, body.code, Number(headers['retry-after']) > 0]).toEqual([429, 'request.rate_limited', true]);
    expect(headers).toMatchObject({ ratelimit: expect.any(String), 'ratelimit-policy': expect.any(String) });
    expect((await service.get('/', { ip })).status).toBe(429);
  });

  it.each<[kind: string, status: number, method: string, path: string, request?: TestRequest]>([
    ['liveness', 200, 'GET', '/health/live'],
    ['a rejected check of liveness', 400, 'GET', '/health/live?x=1'],
    ['readiness', 200, 'GET', '/health/ready'],
    ['metrics', 200, 'GET', '/metrics', { token: METRICS_TOKEN }],
    ['the keys', 200, 'GET', '/.well-known/jwks.json'],
    ['a page of the console', 200, 'GET', '/console/users'],
    ['a missing file of the console', 404, 'GET', '/console/missing.js'],
  ])('does not count %s (H30)', async (_kind, status, method, path, request = {}) => {
    const ip = newAddress();
    await statusesOf(() => service.get('/', { ip }), perMinute + 1);
    expect((await service.send(method, path, { ...request, ip })).status).toBe(status);
  });

  it('does not count requests with a valid token (H30)', async () => {
    const ip = newAddress();
    for (const [status, method, path] of [
      [200, 'GET', '/user'],
      [403, 'GET', '/audit/list'],
      [400, 'GET', `/user${parameters}`],
      [404, 'GET', '/nothing/here'],
      [405, 'DELETE', '/user'],
    ] as const)
      expect(await statusesOf(() => service.send(method, path, { token, ip }), 2)).toEqual(all(status, 2));
    expect((await service.get('/', { ip })).status).toBe(200);
  });

  it('counts rejected tokens in the body, despite a valid token in the header, and no valid ones (H30)', async () => {
    const ip = newAddress();
    const check = (checked: string, own: TestRequest = {}) =>
      service.post('/auth/check-token', { body: { token: checked }, ip, ...own });
    expect((await service.get('/user', { token, ip })).status).toBe(200);
    const rejected = () => check('none of ours', { token });
    expect(await statusesOf(rejected, perMinute + 1)).toEqual([...all(401, perMinute), 429]);
    expect(await statusesOf(() => check(token), perMinute + 1)).toEqual(all(200, perMinute + 1));
    expect((await check(token, { token })).status).toBe(200);
  });
});

describe('requests of the largest size', () => {
  const send = (method: string, path: string, request: TestRequest = {}) =>
    service.send(method, path, { ip: newAddress(), ...request });

  it('are rejected with 201 query parameters, without decoding one (H30)', async () => {
    // Decoding would find these escapes malformed first.
    for (const path of ['/health/live', '/user/list'])
      for (const part of ['%', 'a=%ff', 'q=1']) {
        const answer = await send('GET', `${path}?${many(201, () => part).join('&')}`, service.admin);
        const params = { max: 200, unit: 'parameters' };
        const error = { code: 'parameter.too_many', detail: 'must have at most 200 parameters', params };
        expect(answer).toMatchObject({ status: 400, body: { code: 'request.invalid', errors: [error] } });
      }
  });

  it('get the names of 20 of 200 wrong parameters or fields, and the number of the others (H30)', async () => {
    for (const [start, code] of [
      ['%z', 'parameter.malformed'],
      ['a', 'parameter.unknown'],
    ] as const) {
      const answer = await send('GET', `/health/live?${many(200, (index) => `${start}${index}z`).join('&')}`);
      expect(answer).toMatchObject({ status: 400, body: { errors_omitted: 180 } });
      expect(answer.body.errors.map((error: { code: string }) => error.code)).toEqual(many(20, () => code));
      expect(answer.text.length).toBeLessThan(8_192);
    }
    for (const path of ['/auth/check-token', '/auth/login']) {
      const named = await send('POST', path, { body: fields(200) });
      expect([named.status, named.body.errors.length, named.body.errors_omitted >= 180]).toEqual([400, 20, true]);
      const { status, body } = await send('POST', path, { body: fields(3_000) });
      expect([status, body.errors_omitted]).toEqual([400, undefined]);
      expect(body.errors).toMatchObject([
        { pointer: '', code: 'field.too_many', params: { max: 2_500, unit: 'keys' } },
      ]);
    }
  });

  it.each<[kind: string, status: number, method: string, path: string, request?: TestRequest]>([
    ['a route without a token', 401, 'POST', '/user/create'],
    ['a route with an invalid token', 401, 'POST', '/role/create', { token: 'none of ours' }],
    ['an unknown path', 404, 'POST', '/nothing/here'],
    ['a wrong method', 405, 'PATCH', '/auth/login'],
  ])('are rejected for another reason before their body: %s (H30)', async (_kind, status, method, path, own = {}) => {
    expect((await send(method, path, { ...own, body: fields(3_000) })).status).toBe(status);
  });

  it('count the keys of attributes separately from the fields of a body (H30)', async () => {
    const { user_id } = await service.createUser();
    const { status, body } = await send('PATCH', `/user/${user_id}`, {
      ...service.admin,
      body: { attributes: fields(201) },
    });
    expect([status, body.errors]).toEqual([
      400,
      [expect.objectContaining({ pointer: '/attributes', code: 'field.too_many' })],
    ]);
  });

  it('are rejected with a form of more than 200 fields, without decoding one (H30)', async () => {
    const { status, body } = await send('POST', '/auth/introspect', {
      ...service.admin,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: many(201, () => 'field=%C3%A4').join('&'),
    });
    expect([status, body.errors[0].code]).toEqual([400, 'field.too_many']);
  });

  it('get their own cookie decoded, and no other cookie (H30)', async () => {
    const login = await send('POST', '/auth/login', {
      headers: sameOrigin,
      body: { login: adminEmail, password, transport: 'cookie' },
    });
    const own = cookieOf(login);
    expect(own).toMatch(refreshTokenForm);
    const cookie = `${'a=%;'.repeat(10_000)} ${cookieName}=${own}`;
    const { status } = await send('POST', '/auth/check-token', {
      headers: { ...sameOrigin, cookie },
      body: { transport: 'cookie' },
    });
    expect(status).toBe(200);
  });

  it('get only the end of a long list of proxies read (H30)', async () => {
    const ipOf = async (forwarded: string) => {
      const { name } = await service.createUser();
      const login = await service.post('/auth/login', {
        headers: { 'x-forwarded-for': forwarded },
        body: { login: name, password },
      });
      const { body } = await service.get('/auth/session/list', { token: login.body.access_token });
      return body.items[0].ip;
    };
    const proxies = (count: number) => many(count, () => '127.0.0.9').join(', ');
    expect(await ipOf(`203.0.113.9, ${proxies(3)}`)).toBe('203.0.113.9');
    expect(await ipOf(`${proxies(5_000)}, 203.0.113.9, ${proxies(3)}`)).toBe('203.0.113.9');
    expect(await ipOf(`203.0.113.9, ${proxies(5_000)}`)).toBe('127.0.0.9');
  });
});
