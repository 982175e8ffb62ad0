import { RefreshCookie } from '../../src/auth/tokens/refresh-cookie';
import { hashToken } from '../../src/platform/random';
import {
  cookieName,
  cookieOf,
  CookiePage,
  refreshTokenForm,
  sameOrigin,
  setCookiesOf,
  withCookies,
} from '../support/cookies';
import { Authenticator } from '../support/second-factors';
import { password, type TestAnswer, type TestRequest, TestService } from '../support/service';
import { changeSession, sessionRow } from '../support/session-rows';

const portal = 'https://portal.example.net';
const transport = 'cookie';
const attributes = 'Path=/; HttpOnly; SameSite=Strict';
const secure = 'HttpOnly; Secure; SameSite=Strict';

it.each([
  ['https://identity.example.net', '', '__Host-carrier-identity', `Path=/; ${secure}`],
  ['https://identity.example.net', '/identity', '__Secure-carrier-identity', `Path=/identity/auth; ${secure}`],
  ['http://192.0.2.7:3000', '', '__Host-carrier-identity', `Path=/; ${secure}`],
  ['http://localhost:8080', '', 'carrier-identity-8080', attributes],
  ['http://localhost', '/identity', 'carrier-identity-80', 'Path=/identity/auth; HttpOnly; SameSite=Strict'],
])('names the refresh cookie of %s, BASE_PATH "%s" (S20)', (PUBLIC_URL, BASE_PATH, name, expected) => {
  const sent: string[] = [];
  const cookie = new RefreshCookie({ PUBLIC_URL, BASE_PATH }, `${name}=a`, (setCookie) => sent.push(setCookie));
  expect(cookie.read()).toBe('a');
  cookie.write('b', 60);
  cookie.remove();
  expect(sent).toEqual([`${name}=b; Max-Age=60; ${expected}`, `${name}=; Max-Age=0; ${expected}`]);
});

describe('the cookie transport', () => {
  let service: TestService;
  let page: CookiePage;
  beforeAll(async () => {
    service = await TestService.start({ CORS_ORIGINS: portal });
    page = await CookiePage.create(service);
  });
  afterAll(() => service.close());

  const works = async (access: string) => (await service.get('/user', { token: access })).status;
  const sessions = () => service.rows('select * from sessions order by session_id');
  const stored = (session: { session_id: string }) =>
    sessionRow(service, session, 'refresh_token_hash as hash, ended_reason');
  const refresh = (...cookies: string[]) => page.post('check-token', {}, withCookies(...cookies));
  /** The parts of a rejection without a cookie. */
  const rejection = (answer: TestAnswer) => [answer.status, answer.body.code, setCookiesOf(answer)];

  it('sends the refresh token only as a cookie, rotates it and removes it at logout (S20)', async () => {
    const setCookie = (value: string, seconds: number) => `${cookieName}=${value}; Max-Age=${seconds}; ${attributes}`;
    // A browser without Sec-Fetch-Site.
    const headers = { origin: 'http://localhost:3000' };
    const login = await service.post('/auth/login', { body: { ...page.credentials, transport }, headers });
    const cookie = cookieOf(login);
    expect(cookie).toMatch(refreshTokenForm);
    const refreshed = await refresh(cookie);
    const next = cookieOf(refreshed);
    expect(next).not.toBe(cookie);
    for (const answer of [login, refreshed]) {
      expect(setCookiesOf(answer)).toEqual([setCookie(cookieOf(answer), answer.body.refresh_expires_in)]);
      expect(answer.text).not.toContain('"refresh_token"');
    }
    const left = await page.post('logout', {}, withCookies(next));
    expect([left.status, setCookiesOf(left)]).toEqual([204, [setCookie('', 0)]]);
    expect((await refresh(next)).status).toBe(401);
  });

  it('sends the refresh token of a login with a second factor only as a cookie (S20)', async () => {
    const holder = await service.createUser();
    const app = await Authenticator.enrol((text, values) => service.rows(text, values), holder.user_id);
    const required = await page.post('login', { login: holder.name, password });
    expect(rejection(required)).toEqual([401, 'auth.second_factor_required', []]);
    const { challenge } = required.body;
    const wrong = await page.post('second-factor', { challenge, code: app.wrongCode() });
    expect([wrong.status, setCookiesOf(wrong)]).toEqual([401, []]);
    expect((await page.post('second-factor', { challenge })).status).toBe(400);
    const completed = await page.post('second-factor', { challenge, code: app.code() });
    expect(completed.text).not.toContain('"refresh_token"');
    const refreshed = await refresh(cookieOf(completed));
    expect([refreshed.status, refreshed.body.session.amr]).toEqual([200, ['pwd', 'otp', 'mfa']]);
  });

  it('accepts the cookie only with transport=cookie, in check-token and logout (J19)', async () => {
    const { cookie } = await page.login();
    const headers = { ...sameOrigin, ...withCookies(cookie).headers };
    expect((await service.get('/user', { headers })).body.code).toBe('auth.token_missing');
    for (const path of ['check-token', 'logout'])
      for (const body of [undefined, {}])
        expect((await service.post(`/auth/${path}`, { headers, body })).body.code).toBe('auth.token_missing');
    for (const value of ['Cookie', 'body', '', null, true, ['cookie']])
      for (const path of ['login', 'check-token', 'logout']) {
        const body = { ...(path === 'login' ? page.credentials : {}), transport: value };
        const answer = await page.post(path, body, { headers });
        expect([answer.status, answer.body.errors?.[0].pointer]).toEqual([400, '/transport']);
      }
    expect((await refresh(cookie)).status).toBe(200);
  });

  it('rejects the transport together with a token in the body, and names the field', async () => {
    const { cookie, token: access } = await page.login();
    const before = await sessions();
    for (const [path, field] of [
      ['check-token', 'refresh_token'],
      ['check-token', 'token'],
      ['logout', 'refresh_token'],
    ] as const) {
      const answer = await page.post(path, { [field]: field === 'token' ? access : cookie }, withCookies(cookie));
      const error = { pointer: `/${field}`, code: 'field.not_allowed', params: { field: 'transport' } };
      expect([answer.status, answer.body.errors, setCookiesOf(answer)]).toMatchObject([400, [error], []]);
    }
    expect(await sessions()).toEqual(before);
  });

  it('starts a new session at login, regardless of the sent cookie (S1)', async () => {
    const first = await page.login();
    const second = await page.post('login', page.credentials, withCookies(first.cookie));
    expect(second.body.session_id).not.toBe(first.session_id);
    expect(cookieOf(second)).not.toBe(first.cookie);
    expect(await stored(first)).toMatchObject({ hash: hashToken(first.cookie) });
  });

  it('ends the session at the reuse of an old cookie, and keeps the cookie of the browser (S8, S20)', async () => {
    const login = await page.login();
    const next = cookieOf(await refresh(login.cookie));
    await changeSession(service, login, `refreshed_at = refreshed_at - interval '10 s'`);
    for (const value of [login.cookie, next])
      expect(rejection(await refresh(value))).toEqual([401, 'auth.token_invalid', []]);
    expect([(await stored(login))['ended_reason'], await works(login.token)]).toEqual(['token_reuse', 401]);
  });

  it('never removes the cookie when a request fails (S20)', async () => {
    const [login, foreign] = [await page.login(), await page.login()];
    const { cookie } = login;
    const own = withCookies(cookie);
    const malformed = withCookies(`${cookie.slice(0, -2)}AA`);
    const requests: [path: string, body: object, request?: TestRequest][] = [
      ['login', { ...page.credentials, password: 'wrong' }, own],
      ['login', { login: page.name }, own],
      ['second-factor', { challenge: 'x', code: '123456' }, own],
      ['passkey/login', { challenge: 'x', passkey: {} }, own],
      ['check-token', {}],
      ['check-token', {}, malformed],
      ['check-token', { unknown: 1 }, own],
      ['check-token', {}, { ...own, token: foreign.token }],
      ['logout', {}],
      ['logout', {}, malformed],
      ['logout', { unknown: 1 }, own],
    ];
    for (const request of requests) {
      const answer = await page.post(...request);
      expect([400, 401]).toContain(answer.status);
      expect(setCookiesOf(answer)).toEqual([]);
    }
    expect(await stored(login)).toMatchObject({ hash: hashToken(cookie) });
    await service.rows(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
      create trigger refuse before update on sessions for each row execute function refuse()`);
    const broken = [await refresh(cookie), await page.post('logout', {}, own)];
    await service.rows('drop function refuse cascade');
    for (const answer of broken) expect([answer.status, setCookiesOf(answer)]).toEqual([500, []]);
    expect((await refresh(cookie)).status).toBe(200);
  });

  it('ends the session of the cookie at logout, not that of the access token (S3)', async () => {
    const [own, second] = [await page.login(), await page.login()];
    const left = await page.post('logout', {}, { ...withCookies(own.cookie), token: second.token });
    expect([left.status, setCookiesOf(left).length]).toEqual([204, 1]);
    expect([await works(own.token), await works(second.token)]).toEqual([401, 200]);
    expect(await stored(own)).toMatchObject({ ended_reason: 'logout' });
    // Without a cookie, the access token names the session.
    expect((await page.post('logout', {}, { token: second.token })).status).toBe(204);
    expect(await works(second.token)).toBe(401);
  });

  describe('and other origins', () => {
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
      ['another site with the own origin', { 'sec-fetch-site': 'cross-site', origin: 'http://localhost:3000' }],
      ['a client with only a referrer', { referer: 'http://localhost:3000/console/' }],
    ])('does not set or use the cookie for requests from %s (H22)', async (_title, headers: Record<string, string>) => {
      const { cookie, token: access } = await page.login();
      const before = await sessions();
      const requests: [path: string, body: object, request?: TestRequest][] = [
        ['login', page.credentials],
        ['second-factor', { challenge: 'x', code: '123456' }],
        ['passkey/login', { challenge: 'x', passkey: {} }],
        ['check-token', {}],
        ['check-token', {}, { token: access }],
        ['logout', {}, { token: access }],
      ];
      for (const [path, fields, request] of requests) {
        const sent = { body: { transport, ...fields }, headers: { ...withCookies(cookie).headers, ...headers } };
        const answer = await service.post(`/auth/${path}`, { ...request, ...sent });
        expect([path, ...rejection(answer)]).toEqual([path, 403, 'auth.cross_origin', []]);
        expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
      }
      expect(await sessions()).toEqual(before);
      expect((await refresh(cookie)).status).toBe(200);
    });

    it('ignores cookies of other names, and rejects two cookies of its name (H22)', async () => {
      const [own, planted] = [await page.login(), await page.login()];
      const withHeader = (cookie: string) => page.post('check-token', {}, { headers: { cookie } });
      const others = ['__Host-carrier-identity', 'carrier-identity-3001', 'Carrier-Identity-3000', 'refresh_token'];
      for (const name of others) {
        expect((await withHeader(`${name}=${planted.cookie}`)).body.code).toBe('auth.token_missing');
        const both = await withHeader(`${name}=${planted.cookie}; ${cookieName}=${own.cookie}`);
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
        expect(rejection(await refresh(...values))).toEqual([401, 'auth.token_invalid', []]);
        expect((await page.post('logout', {}, withCookies(...values))).status).toBe(401);
      }
      expect(await sessions()).toEqual(before);
      // The access token still logs out of its own session.
      const request = { ...withCookies(planted.cookie, own.cookie), token: own.token };
      expect((await page.post('logout', {}, request)).status).toBe(204);
      expect([await works(own.token), await works(planted.token)]).toEqual([401, 200]);
    });
  });
});
