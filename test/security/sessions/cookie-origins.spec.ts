import { cookieName, cookieOf, CookiePage, refreshTokenForm, setCookiesOf, withCookies } from '../../support/cookies';
import { type TestRequest, TestService } from '../../support/service';

const portal = 'https://portal.example.net';
const transport = 'cookie';

describe('the cookie transport and other origins', () => {
  let service: TestService;
  let page: CookiePage;
  beforeAll(async () => {
    service = await TestService.start({ CORS_ORIGINS: portal });
    page = await CookiePage.create(service);
  });
  afterAll(() => service.close());

  const works = async (access: string) => (await service.get('/user', { token: access })).status;
  const sessions = async () => service.rows('select * from sessions order by session_id');

  it.each([
    ['a client without these headers', {}],
    ['another port of the host', { 'sec-fetch-site': 'same-site', origin: 'http://localhost:3001' }],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' }],
    ['an allowed origin', { 'sec-fetch-site': 'cross-site', origin: portal }],
    ['an allowed origin in an old browser', { origin: portal }],
    ['another port in an old browser', { origin: 'http://localhost:3001' }],
    ['a sibling host in an old browser', { origin: 'http://localhost.evil.test:3000' }],
    ['a sandboxed frame', { origin: 'null' }],
    ['the address bar', { 'sec-fetch-site': 'none' }],
    ['a client with two values of Sec-Fetch-Site', { 'sec-fetch-site': 'same-origin, same-origin' }],
    [
      'another site with the origin of the service',
      { 'sec-fetch-site': 'cross-site', origin: 'http://localhost:3000' },
    ],
    ['a client with only a referrer', { referer: 'http://localhost:3000/console/' }],
  ])('does not set or use the cookie for requests from %s (H22)', async (_title, headers: Record<string, string>) => {
    const { cookie, token: access } = await page.login();
    const before = await sessions();
    const send = (path: string, body: object, request: TestRequest = {}) =>
      service.post(`/auth/${path}`, {
        ...request,
        body: { transport, ...body },
        headers: { cookie: `${cookieName}=${cookie}`, ...headers },
      });
    const answers = [
      await send('login', page.credentials),
      await send('second-factor', { challenge: 'x', code: '123456' }),
      await send('passkey/login', { challenge: 'x', passkey: {} }),
      await send('check-token', {}),
      await send('check-token', {}, { token: access }),
      await send('logout', {}, { token: access }),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.body.code, setCookiesOf(answer)]).toEqual([403, 'auth.cross_origin', []]);
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    }
    expect(await sessions()).toEqual(before);
    expect((await page.post('check-token', {}, withCookies(cookie))).status).toBe(200);
  });

  it('never lets pages of allowed origins send cookies (H22)', async () => {
    const headers = { origin: portal, 'access-control-request-method': 'POST' };
    for (const path of ['login', 'second-factor', 'passkey/login', 'check-token', 'logout']) {
      const preflight = await service.send('OPTIONS', `/auth/${path}`, { headers });
      expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, portal]);
      expect(preflight.headers['access-control-allow-credentials']).toBeUndefined();
    }
  });

  it('accepts the origin of the service from browsers without Sec-Fetch-Site', async () => {
    const headers = { origin: 'http://localhost:3000' };
    const body = { ...page.credentials, transport };
    expect(cookieOf(await service.post('/auth/login', { body, headers }))).toMatch(refreshTokenForm);
  });

  it('ignores cookies of other names, and rejects two cookies of its name (H22)', async () => {
    const [own, planted] = [await page.login(), await page.login()];
    const refresh = (cookie: string) => page.post('check-token', {}, { headers: { cookie } });
    for (const wrong of [
      '__Host-carrier-identity',
      'carrier-identity-3001',
      'Carrier-Identity-3000',
      'refresh_token',
    ]) {
      expect((await refresh(`${wrong}=${planted.cookie}`)).body.code).toBe('auth.token_missing');
      const both = await refresh(`${wrong}=${planted.cookie}; ${cookieName}=${own.cookie}`);
      expect(both.body.session.session_id).toBe(own.session_id);
      own.cookie = cookieOf(both);
    }
    const before = await sessions();
    for (const values of [
      [planted.cookie, own.cookie],
      [own.cookie, planted.cookie],
      [own.cookie, own.cookie],
      [own.cookie, ''],
    ]) {
      const answer = await page.post('check-token', {}, withCookies(...values));
      expect([answer.status, answer.body.code, setCookiesOf(answer)]).toEqual([401, 'auth.token_invalid', []]);
      expect((await page.post('logout', {}, withCookies(...values))).status).toBe(401);
    }
    expect(await sessions()).toEqual(before);
    // The access token still logs out of its own session.
    expect(
      (await page.post('logout', {}, { ...withCookies(planted.cookie, own.cookie), token: own.token })).status,
    ).toBe(204);
    expect([await works(own.token), await works(planted.token)]).toEqual([401, 200]);
  });
});
