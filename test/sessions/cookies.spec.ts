import type { Browser, BrowserContext, Page } from 'playwright-core';
import { hashToken } from '../../src/platform/random';
import { openBrowser } from '../support/console/browser';
import { freePort } from '../support/process/built-program';
import { cookieOf, refreshTokenForm, sameOrigin } from '../support/logins/cookies';
import { addPasskey, PasskeyBrowser, signLogin } from '../support/logins/passkeys';
import { Authenticator } from '../support/logins/second-factors';
import { password, type TestAnswer, type TestRequest, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { changeSession, sessionRow } from '../support/data/session-rows';
import { WebSite } from '../support/console/web-site';

const portal = 'https://portal.example.net';
const transport = 'cookie';
const attributes = 'Path=/; HttpOnly; SameSite=Strict';

type Answer = Record<'status', number> & Record<'body', { code?: string }>;
/** Options of `fetch` that a page may change. */
type FetchOptions = Pick<RequestInit, 'mode' | 'credentials'> & { headers?: Record<string, string> };

/**
 * Sends a request with cookies from a page, as the script of the page would. Returns status and
 * body, or the error.
 */
function fetchFrom(page: Page, url: string, body: object, options: FetchOptions = {}): Promise<Answer | string> {
  const headers = { 'content-type': 'application/json' };
  const sent = { method: 'POST', credentials: 'include', headers, body: JSON.stringify({ transport, ...body }) };
  return page.evaluate(
    async ([address, init]) => {
      try {
        const response = await fetch(address, init as RequestInit);
        const text = await response.text();
        return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
      } catch (error) {
        return String(error);
      }
    },
    [url, { ...sent, ...options }] as const,
  );
}

describe('the refresh cookie', () => {
  let browser: Browser;
  let service: TestService;
  /** URL of the service */
  let base: string;
  let cookieName: string;
  /** port of another site on localhost */
  let otherPort: number;
  let otherSite: WebSite;
  let credentials: { login: string; password: string };
  beforeAll(async () => {
    browser = await openBrowser();
    const port = await freePort();
    otherPort = await freePort();
    otherSite = await WebSite.start(otherPort);
    base = `http://localhost:${port}`;
    cookieName = `carrier-identity-${port}`;
    const CORS_ORIGINS = `${portal},http://localhost:${otherPort},http://evil.test:${otherPort}`;
    service = await TestService.start({ PUBLIC_URL: base, PORT: String(port), CORS_ORIGINS });
    credentials = { login: (await service.createUser()).name, password };
  });
  afterAll(async () => {
    await browser.close();
    await otherSite.stop();
    await service.close();
  });

  const setCookiesOf = ({ headers }: TestAnswer) => [headers['set-cookie'] ?? []].flat().map(String);
  /** Returns the headers of a request with refresh cookies. */
  const withCookies = (...values: string[]) => ({
    headers: { cookie: values.map((value) => `${cookieName}=${value}`).join('; ') },
  });
  /** Sends a request of a page of the service to `/auth/<path>`. */
  const post = (path: string, body: object, request: TestRequest = {}) =>
    service.post(`/auth/${path}`, {
      ...request,
      body: { transport, ...body },
      headers: { ...sameOrigin, ...request.headers },
    });
  /** Logs in, and returns the new session with its tokens. */
  const login = async () => {
    const answer = await post('login', credentials);
    return {
      cookie: cookieOf(answer),
      token: answer.body.access_token as string,
      session_id: answer.body.session_id as string,
    };
  };
  const works = async (access: string) => (await service.get('/user', { token: access })).status;
  const sessions = () => service.rows('select * from sessions order by session_id');
  const stored = (session: { session_id: string }) =>
    sessionRow(service, session, 'refresh_token_hash as hash, ended_reason');
  const refresh = (...cookies: string[]) => post('check-token', {}, withCookies(...cookies));
  /** The parts of a rejection without a cookie. */
  const rejection = (answer: TestAnswer) => [answer.status, answer.body.code, setCookiesOf(answer)];

  it('sends the refresh token only as a cookie, rotates it and removes it at logout (S20)', async () => {
    const setCookie = (value: string, seconds: number) => `${cookieName}=${value}; Max-Age=${seconds}; ${attributes}`;
    // A browser without Sec-Fetch-Site.
    const headers = { origin: base };
    const opened = await service.post('/auth/login', { body: { ...credentials, transport }, headers });
    const cookie = cookieOf(opened);
    expect(cookie).toMatch(refreshTokenForm);
    const refreshed = await refresh(cookie);
    const next = cookieOf(refreshed);
    expect(next).not.toBe(cookie);
    for (const answer of [opened, refreshed]) {
      expect(setCookiesOf(answer)).toEqual([setCookie(cookieOf(answer), answer.body.refresh_expires_in)]);
      expect(answer.text).not.toContain('"refresh_token"');
    }
    const left = await post('logout', {}, withCookies(next));
    expect([left.status, setCookiesOf(left)]).toEqual([204, [setCookie('', 0)]]);
    expect((await refresh(next)).status).toBe(401);
  });

  it('sends the refresh token of a login with a second factor only as a cookie (S20)', async () => {
    const holder = await service.createUser();
    const app = await Authenticator.enrol(service, holder.user_id);
    const required = await post('login', { login: holder.name, password });
    expect(rejection(required)).toEqual([401, 'auth.second_factor_required', []]);
    const { challenge } = required.body;
    const wrong = await post('second-factor', { challenge, code: app.wrongCode() });
    expect([wrong.status, setCookiesOf(wrong)]).toEqual([401, []]);
    expect((await post('second-factor', { challenge })).status).toBe(400);
    const completed = await post('second-factor', { challenge, code: app.code() });
    expect(completed.text).not.toContain('"refresh_token"');
    const refreshed = await refresh(cookieOf(completed));
    expect([refreshed.status, refreshed.body.session.amr]).toEqual([200, ['pwd', 'otp', 'mfa']]);
  });

  it('accepts the cookie only with transport=cookie, in check-token and logout (J19)', async () => {
    const { cookie } = await login();
    const headers = { ...sameOrigin, ...withCookies(cookie).headers };
    expect((await service.get('/user', { headers })).body.code).toBe('auth.token_missing');
    for (const path of ['check-token', 'logout'])
      for (const body of [undefined, {}])
        expect((await service.post(`/auth/${path}`, { headers, body })).body.code).toBe('auth.token_missing');
    for (const value of ['Cookie', 'body', '', null, true, ['cookie']])
      for (const path of ['login', 'check-token', 'logout']) {
        const body = { ...(path === 'login' ? credentials : {}), transport: value };
        const answer = await post(path, body, { headers });
        expect([answer.status, answer.body.errors?.[0].pointer]).toEqual([400, '/transport']);
      }
    expect((await refresh(cookie)).status).toBe(200);
  });

  it('rejects the transport together with a token in the body, and names the field', async () => {
    const { cookie, token: access } = await login();
    const before = await sessions();
    for (const [path, field] of [
      ['check-token', 'refresh_token'],
      ['check-token', 'token'],
      ['logout', 'refresh_token'],
    ] as const) {
      const answer = await post(path, { [field]: field === 'token' ? access : cookie }, withCookies(cookie));
      const error = { pointer: `/${field}`, code: 'field.not_allowed', params: { field: 'transport' } };
      expect([answer.status, answer.body.errors, setCookiesOf(answer)]).toMatchObject([400, [error], []]);
    }
    expect(await sessions()).toEqual(before);
  });

  it('starts a new session at login, regardless of the sent cookie (S1)', async () => {
    const first = await login();
    const second = await post('login', credentials, withCookies(first.cookie));
    expect(second.body.session_id).not.toBe(first.session_id);
    expect(cookieOf(second)).not.toBe(first.cookie);
    expect(await stored(first)).toMatchObject({ hash: hashToken(first.cookie) });
  });

  it('ends the session at the reuse of an old cookie, and keeps the cookie of the browser (S8, S20)', async () => {
    const session = await login();
    const next = cookieOf(await refresh(session.cookie));
    await changeSession(service, session, `refreshed_at = refreshed_at - interval '10 s'`);
    for (const value of [session.cookie, next])
      expect(rejection(await refresh(value))).toEqual([401, 'auth.token_invalid', []]);
    expect([(await stored(session))['ended_reason'], await works(session.token)]).toEqual(['token_reuse', 401]);
  });

  it('never removes the cookie when a request fails (S20)', async () => {
    const [session, foreign] = [await login(), await login()];
    const { cookie } = session;
    const own = withCookies(cookie);
    const malformed = withCookies(`${cookie.slice(0, -2)}AA`);
    const requests: [path: string, body: object, request?: TestRequest][] = [
      ['login', { ...credentials, password: 'wrong' }, own],
      ['login', { login: credentials.login }, own],
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
      const answer = await post(...request);
      expect([400, 401]).toContain(answer.status);
      expect(setCookiesOf(answer)).toEqual([]);
    }
    expect(await stored(session)).toMatchObject({ hash: hashToken(cookie) });
    await service.rows(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
      create trigger refuse before update on sessions for each row execute function refuse()`);
    const broken = [await refresh(cookie), await post('logout', {}, own)];
    await service.rows('drop function refuse cascade');
    for (const answer of broken) expect([answer.status, setCookiesOf(answer)]).toEqual([500, []]);
    expect((await refresh(cookie)).status).toBe(200);
  });

  it('ends the session of the cookie at logout, not that of the access token (S3)', async () => {
    const [own, second] = [await login(), await login()];
    const left = await post('logout', {}, { ...withCookies(own.cookie), token: second.token });
    expect([left.status, setCookiesOf(left).length]).toEqual([204, 1]);
    expect([await works(own.token), await works(second.token)]).toEqual([401, 200]);
    expect(await stored(own)).toMatchObject({ ended_reason: 'logout' });
    // Without a cookie, the access token names the session.
    expect((await post('logout', {}, { token: second.token })).status).toBe(204);
    expect(await works(second.token)).toBe(401);
  });

  it('does not set or use the cookie for requests from other origins (H22)', async () => {
    const { cookie, token } = await login();
    const before = await sessions();
    const requests: [path: string, body: object, request?: TestRequest][] = [
      ['login', credentials],
      ['second-factor', { challenge: 'x', code: '123456' }],
      ['passkey/login', { challenge: 'x', passkey: {} }],
      ['check-token', {}],
      ['check-token', {}, { token }],
      ['logout', {}, { token }],
    ];
    const origins: Record<string, Record<string, string>> = {
      'a client without these headers': {},
      'another port of the host': { 'sec-fetch-site': 'same-site', origin: 'http://localhost:1' },
      'another site': { 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' },
      'an allowed origin': { 'sec-fetch-site': 'cross-site', origin: portal },
      'an allowed origin in an old browser': { origin: portal },
      'another port in an old browser': { origin: 'http://localhost:1' },
      'a sibling host in an old browser': { origin: base.replace('localhost', 'localhost.evil.test') },
      'a sandboxed frame': { origin: 'null' },
      'the address bar': { 'sec-fetch-site': 'none' },
      'a client with two values of Sec-Fetch-Site': { 'sec-fetch-site': 'same-origin, same-origin' },
      'another site with the own origin': { 'sec-fetch-site': 'cross-site', origin: base },
      'a client with only a referrer': { referer: `${base}/console/` },
    };
    for (const [origin, headers] of Object.entries(origins))
      for (const [path, fields, request] of requests) {
        const sent = { body: { transport, ...fields }, headers: { ...withCookies(cookie).headers, ...headers } };
        const answer = await service.post(`/auth/${path}`, { ...request, ...sent });
        expect([origin, path, ...rejection(answer)]).toEqual([origin, path, 403, 'auth.cross_origin', []]);
        expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
      }
    expect(await sessions()).toEqual(before);
    expect((await refresh(cookie)).status).toBe(200);
  });

  it('ignores cookies of other names, and rejects two cookies of its name (H22)', async () => {
    const [own, planted] = [await login(), await login()];
    const withHeader = (cookie: string) => post('check-token', {}, { headers: { cookie } });
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
      expect((await post('logout', {}, withCookies(...values))).status).toBe(401);
    }
    expect(await sessions()).toEqual(before);
    // The access token still logs out of its own session.
    const request = { ...withCookies(planted.cookie, own.cookie), token: own.token };
    expect((await post('logout', {}, request)).status).toBe(204);
    expect([await works(own.token), await works(planted.token)]).toEqual([401, 200]);
  });

  describe('in a real browser', () => {
    let context: BrowserContext;
    beforeEach(async () => void (context = await browser.newContext({ ignoreHTTPSErrors: true })));
    afterEach(() => context.close());

    const calls = () => Object.entries({ login: credentials, 'check-token': {}, logout: {} });
    const open = async (url: string): Promise<Page> => {
      const page = await context.newPage();
      await page.goto(url);
      return page;
    };
    /** Opens a page of a site that sets a cookie. */
    const plant = (site: string, setCookie: string) => open(`${site}/?set-cookie=${encodeURIComponent(setCookie)}`);
    const refreshFrom = async (page: Page, at = base) => {
      const answer = await fetchFrom(page, `${at}/auth/check-token`, {});
      return typeof answer === 'string' ? answer : [answer.status, answer.body.code];
    };
    const refreshed = [200, undefined];
    const crossOrigin = { status: 403, body: { code: 'auth.cross_origin' } };
    /** Runs a test on a host with HTTPS, where a proxy forwards a path to another instance. */
    const behindProxy = async (
      host: string,
      BASE_PATH: string,
      test: (origin: string, web: WebSite, sibling: string) => Promise<void>,
    ) => {
      const port = await freePort();
      const [origin, sibling] = [`https://${host}.example.test:${port}`, `https://evil.example.test:${port}`];
      const instance = await ServiceProcess.beside(service, { PUBLIC_URL: origin, BASE_PATH, CORS_ORIGINS: sibling });
      const forwarded = { port: instance.port, host: `${host}.`, path: `${BASE_PATH}/` };
      const web = await WebSite.start(port, { tls: true, service: forwarded });
      try {
        await test(origin, web, sibling);
      } finally {
        await web.stop();
        await instance.kill();
      }
    };

    it('lets only pages of the service use and set the cookie, not another port of localhost (H22)', async () => {
      const page = await open(`${base}/docs/errors`);
      expect(await fetchFrom(page, `${base}/auth/login`, credentials)).toMatchObject({ status: 200 });
      const expected = { domain: 'localhost', path: '/', httpOnly: true, sameSite: 'Strict' };
      expect(await context.cookies()).toMatchObject([{ name: cookieName, ...expected }]);
      expect(await page.evaluate('document.cookie')).toBe('');
      // A reload, and a second tab.
      await page.reload();
      for (const tab of [page, await open(`${base}/docs/errors`)]) expect(await refreshFrom(tab)).toEqual(refreshed);

      const [before, kept] = [await sessions(), await context.cookies()];
      for (const host of ['localhost', 'evil.test']) {
        const foreign = await open(`http://${host}:${otherPort}`);
        const simple = { 'content-type': 'text/plain' };
        const kinds: FetchOptions[] = [{}, { headers: simple }, { mode: 'no-cors', headers: simple }];
        for (const init of kinds)
          for (const [path, body] of calls()) await fetchFrom(foreign, `${base}/auth/${path}`, body, init);
        // Without credentials, the page may read the rejection.
        const answer = await fetchFrom(foreign, `${base}/auth/login`, credentials, { credentials: 'omit' });
        expect(answer).toMatchObject(crossOrigin);
      }
      expect(await sessions()).toEqual(before);
      expect(await context.cookies()).toEqual(kept);
      expect(await refreshFrom(page)).toEqual(refreshed);
    });

    it('adopts no cookie that another port of localhost plants beside its own (H22)', async () => {
      const other = `http://localhost:${otherPort}`;
      const page = await open(`${base}/docs/errors`);
      // The cookie of a service on another port does not affect this service.
      await plant(other, `carrier-identity-${otherPort}=${service.admin.refresh_token}; Path=/`);
      expect(await refreshFrom(page)).toEqual([401, 'auth.token_missing']);
      await fetchFrom(page, `${base}/auth/login`, credentials);
      expect(await refreshFrom(page)).toEqual(refreshed);
      await (await open(other)).evaluate(`document.cookie = '${cookieName}=planted; path=/'`);
      expect(await refreshFrom(page)).toEqual(refreshed);
      await plant(other, `${cookieName}=${service.admin.refresh_token}; Path=/auth`);
      expect((await context.cookies(`${base}/auth/login`)).map(({ path }) => path)).toContain('/auth');
      const before = await sessions();
      expect(await refreshFrom(page)).toEqual([401, 'auth.token_invalid']);
      expect(await sessions()).toEqual(before);
    });

    it('keeps the cookie from sibling hosts, which cannot plant it either (H22)', async () => {
      const { refresh_token } = service.admin;
      await behindProxy('identity', '', async (origin, web, sibling) => {
        await plant(sibling, 'other=1; Domain=example.test; Path=/; Secure');
        for (const domain of ['; Domain=example.test', ''])
          await plant(sibling, `__Host-carrier-identity=${refresh_token}; Path=/; Secure${domain}`);
        const page = await open(`${origin}/docs/errors`);
        const cookies = () => context.cookies(`${origin}/auth/login`);
        const names = async () => (await cookies()).map(({ name }) => name).sort();
        expect(await names()).toEqual(['other']);
        expect(await refreshFrom(page, origin)).toEqual([401, 'auth.token_missing']);
        await fetchFrom(page, `${origin}/auth/login`, credentials);
        expect(await names()).toEqual(['__Host-carrier-identity', 'other']);
        web.received.length = 0;
        const foreign = await open(sibling);
        const before = await sessions();
        for (const [path, body] of calls()) {
          const url = `${origin}/auth/${path}`;
          // The preflight allows no credentials. Without them, the service rejects the request.
          expect(await fetchFrom(foreign, url, body)).toMatch(/Failed to fetch/);
          expect(await fetchFrom(foreign, url, body, { credentials: 'omit' })).toMatchObject(crossOrigin);
        }
        expect(await sessions()).toEqual(before);
        const own = (await cookies()).find(({ name }) => name !== 'other')?.value ?? '';
        expect(web.received.length).toBeGreaterThan(0);
        for (const received of web.received) expect(received).not.toContain(own);
        expect(await refreshFrom(page, origin)).toEqual(refreshed);
      });
    });

    it('sends the cookie to no other application behind the same proxy, with BASE_PATH (H22)', async () => {
      await behindProxy('platform', '/identity', async (origin, web) => {
        const url = `${origin}/identity`;
        const page = await open(`${url}/docs/errors`);
        await fetchFrom(page, `${url}/auth/login`, credentials);
        const expected = { path: '/identity/auth', secure: true, httpOnly: true, sameSite: 'Strict' };
        expect(await context.cookies()).toMatchObject([{ name: '__Secure-carrier-identity', ...expected }]);
        expect(await refreshFrom(page, url)).toEqual(refreshed);
        web.received.length = 0;
        for (const path of ['/', '/auth', '/identity', '/billing/auth', '/identity-2/auth']) await open(origin + path);
        expect(web.received.length).toBeGreaterThanOrEqual(5);
        expect(new Set(web.received)).toEqual(new Set(['']));
        const left = await fetchFrom(page, `${url}/auth/logout`, {});
        expect([left, await context.cookies()]).toEqual([{ status: 204, body: {} }, []]);
      });
    });

    it('logs in with a passkey, with the refresh token only in the cookie (S20)', async () => {
      const user = await service.loginAs();
      const device = await PasskeyBrowser.open(browser, base);
      expect((await addPasskey(service, device, user.token)).status).toBe(201);
      const page = await open(`${base}/docs/errors`);
      const answer = await fetchFrom(page, `${base}/auth/passkey/login`, await signLogin(service, device));
      expect(answer).toMatchObject({ status: 200, body: { user: { user_id: user.user_id } } });
      expect(JSON.stringify(answer)).not.toContain('"refresh_token"');
      expect(await refreshFrom(page)).toEqual(refreshed);
      await device.close();
    });
  });
});
