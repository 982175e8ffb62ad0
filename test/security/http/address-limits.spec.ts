import { TestService, type TestAnswer } from '../../support/service';

const perMinute = 5;
const METRICS_TOKEN = 'metrics-token-0123456789-abcdefghij';
const wide = 'a'.repeat(70_000);
const parameters = `?${'a&'.repeat(200)}a`;

/** Requests without a valid token, with the status of their response. */
const counted: [string, number, string, string, object?][] = [
  ['the root', 200, 'GET', '/'],
  ['the explorer', 200, 'GET', '/docs'],
  ['the document', 200, 'GET', '/docs/openapi.json'],
  ['a page about an error', 200, 'GET', '/docs/errors/request.invalid'],
  ['the script of a page', 200, 'GET', '/auth/link-page.js'],
  ['the origins of passkeys', 200, 'GET', '/.well-known/webauthn'],
  ['an unknown path', 404, 'GET', '/nothing/here'],
  ['a path with an escape', 404, 'GET', '/user/%61ll'],
  ['a wrong method', 405, 'DELETE', '/auth/login'],
  ['too many parameters', 400, 'POST', `/auth/check-token${parameters}`, { body: {} }],
  ['a body that is too large', 413, 'POST', '/auth/check-token', { body: { token: wide } }],
  ['a token check without a token', 401, 'POST', '/auth/check-token', { body: {} }],
  ['a token check of a refused token', 401, 'POST', '/auth/check-token', { body: { token: 'none of ours' } }],
  ['a token check with an unknown field', 400, 'POST', '/auth/check-token', { body: { name: 1 } }],
  ['a logout with an unknown field', 400, 'POST', '/auth/logout', { body: { name: 1 } }],
  ['a route without a token', 401, 'GET', '/user'],
  ['an unexpected expectation', 400, 'GET', '/', { headers: { expect: 'a surprise' } }],
];

/** Requests that are never counted. */
const exempt: [string, number, string, string, object?][] = [
  ['liveness', 200, 'GET', '/health/live'],
  ['a refused check of liveness', 400, 'GET', '/health/live?x=1'],
  ['readiness', 200, 'GET', '/health/ready'],
  ['metrics', 200, 'GET', '/metrics', { token: METRICS_TOKEN }],
  ['the keys', 200, 'GET', '/.well-known/jwks.json'],
  ['a page of the console', 200, 'GET', '/console/users'],
  ['a missing file of the console', 404, 'GET', '/console/missing.js'],
];

describe('the limit per address', () => {
  let service: TestService;
  let user: { token: string };
  let addresses = 0;
  beforeAll(async () => {
    service = await TestService.start({ REQUESTS_PER_ADDRESS_PER_MINUTE: String(perMinute), METRICS_TOKEN });
    user = await service.loginAs();
  });
  afterAll(() => service.close());

  const newAddress = () => `198.51.100.${++addresses}`;
  async function statusesOf(send: () => Promise<TestAnswer>, count: number): Promise<number[]> {
    const statuses: number[] = [];
    for (let index = 0; index < count; index++) statuses.push((await send()).status);
    return statuses;
  }

  it.each(counted)('counts %s (H30)', async (_kind, status, method, path, request = {}) => {
    const ip = newAddress();
    const send = () => service.send(method, path, { ...request, ip });
    expect(await statusesOf(send, perMinute)).toEqual(Array<number>(perMinute).fill(status));
    const { status: limited, body, headers } = await send();
    expect([limited, body.code, Number(headers['retry-after']) > 0]).toEqual([429, 'request.rate_limited', true]);
    expect(headers).toMatchObject({ ratelimit: expect.any(String), 'ratelimit-policy': expect.any(String) });
    expect((await service.get('/', { ip })).status).toBe(429);
  });

  it.each(exempt)('does not count %s (H30)', async (_kind, status, method, path, request = {}) => {
    const ip = newAddress();
    await statusesOf(() => service.get('/', { ip }), perMinute + 1);
    const send = () => service.send(method, path, { ...request, ip });
    expect(await statusesOf(send, perMinute * 2)).toEqual(Array<number>(perMinute * 2).fill(status));
  });

  it.each([
    ['a success', 200, 'GET', '/user'],
    ['a missing permission', 403, 'GET', '/audit/list'],
    ['an unknown parameter', 400, 'GET', '/user?x=1'],
    ['an unknown path', 404, 'GET', '/nothing/here'],
    ['a wrong method', 405, 'DELETE', '/user'],
    ['too many parameters', 400, 'GET', `/user${parameters}`],
  ])('does not count a request with a valid token: %s (H30)', async (_kind, status, method, path) => {
    const ip = newAddress();
    const send = () => service.send(method, path, { token: user.token, ip });
    expect(await statusesOf(send, perMinute * 2)).toEqual(Array<number>(perMinute * 2).fill(status));
    expect((await service.get('/', { ip })).status).toBe(200);
  });

  it('checks the valid tokens of a module whose rejected checks have reached the limit (H30)', async () => {
    const ip = newAddress();
    const check = (token: string) => service.post('/auth/check-token', { body: { token }, ip });
    await statusesOf(() => check('none of ours'), perMinute);
    expect((await check('none of ours')).status).toBe(429);
    expect(await statusesOf(() => check(user.token), perMinute * 2)).toEqual(Array<number>(perMinute * 2).fill(200));
  });

  it('counts a rejected token in the body, although the header has a valid token (H30)', async () => {
    const ip = newAddress();
    const check = (token: string) => service.post('/auth/check-token', { token: user.token, body: { token }, ip });
    const refused = [...Array<number>(perMinute).fill(401), 429];
    expect((await service.get('/user', { token: user.token, ip })).status).toBe(200);
    expect(await statusesOf(() => check('none of ours'), perMinute + 1)).toEqual(refused);
    expect((await check(user.token)).status).toBe(200);
  });

  it('counts a request once, although its route and its rejection both count (H30)', async () => {
    const ip = newAddress();
    const send = () => service.get(`/auth/reset/${'A'.repeat(43)}?x=1`, { ip });
    expect(await statusesOf(send, perMinute + 1)).toEqual([...Array<number>(perMinute).fill(400), 429]);
  });
});
