import type { Browser, BrowserContext, Page } from 'playwright-core';
import { openBrowser } from '../support/browser';
import { freePort } from '../support/built-program';
import { addPasskey, PasskeyBrowser, signLogin } from '../support/passkeys';
import { adminEmail, password, TestService } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { WebSite } from '../support/web-site';

const transport = 'cookie';

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

describe('the refresh cookie in a real browser', () => {
  let browser: Browser;
  let service: TestService;
  /** URL of the service */
  let base: string;
  /** port of another site on localhost */
  let otherPort: number;
  let otherSite: WebSite;
  beforeAll(async () => {
    browser = await openBrowser();
    const port = await freePort();
    otherPort = await freePort();
    otherSite = await WebSite.start(otherPort);
    base = `http://localhost:${port}`;
    const CORS_ORIGINS = `http://localhost:${otherPort},http://evil.test:${otherPort}`;
    service = await TestService.start({ PUBLIC_URL: base, PORT: String(port), CORS_ORIGINS });
  });
  afterAll(async () => {
    await browser.close();
    await otherSite.stop();
    await service.close();
  });

  let context: BrowserContext;
  beforeEach(async () => void (context = await browser.newContext({ ignoreHTTPSErrors: true })));
  afterEach(() => context.close());

  const credentials = { login: adminEmail, password };
  const calls = Object.entries({ login: credentials, 'check-token': {}, logout: {} });
  const open = async (url: string): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(url);
    return page;
  };
  /** Opens a page of a site that sets a cookie. */
  const plant = (site: string, setCookie: string) => open(`${site}/?set-cookie=${encodeURIComponent(setCookie)}`);
  /** Returns the stored state of all sessions. */
  const sessions = () =>
    service.rows('select session_id, refresh_token_hash, ended_at from sessions order by session_id');
  const refresh = async (page: Page, at = base) => {
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
    const name = `carrier-identity-${new URL(base).port}`;
    const attributes = { domain: 'localhost', path: '/', httpOnly: true, sameSite: 'Strict' };
    expect(await context.cookies()).toMatchObject([{ name, ...attributes }]);
    expect(await page.evaluate('document.cookie')).toBe('');
    // A reload, and a second tab.
    await page.reload();
    for (const tab of [page, await open(`${base}/docs/errors`)]) expect(await refresh(tab)).toEqual(refreshed);

    const [before, kept] = [await sessions(), await context.cookies()];
    for (const host of ['localhost', 'evil.test']) {
      const foreign = await open(`http://${host}:${otherPort}`);
      const simple = { 'content-type': 'text/plain' };
      const kinds: FetchOptions[] = [{}, { headers: simple }, { mode: 'no-cors', headers: simple }];
      for (const init of kinds)
        for (const [path, body] of calls) await fetchFrom(foreign, `${base}/auth/${path}`, body, init);
      // Without credentials, the page may read the rejection.
      const answer = await fetchFrom(foreign, `${base}/auth/login`, credentials, { credentials: 'omit' });
      expect(answer).toMatchObject(crossOrigin);
    }
    expect(await sessions()).toEqual(before);
    expect(await context.cookies()).toEqual(kept);
    expect(await refresh(page)).toEqual(refreshed);
  });

  it('adopts no cookie that another port of localhost plants beside its own (H22)', async () => {
    const [other, name] = [`http://localhost:${otherPort}`, `carrier-identity-${new URL(base).port}`];
    const page = await open(`${base}/docs/errors`);
    // The cookie of a service on another port does not affect this service.
    await plant(other, `carrier-identity-${otherPort}=${service.admin.refresh_token}; Path=/`);
    expect(await refresh(page)).toEqual([401, 'auth.token_missing']);
    await fetchFrom(page, `${base}/auth/login`, credentials);
    expect(await refresh(page)).toEqual(refreshed);
    await (await open(other)).evaluate(`document.cookie = '${name}=planted; path=/'`);
    expect(await refresh(page)).toEqual(refreshed);
    await plant(other, `${name}=${service.admin.refresh_token}; Path=/auth`);
    expect((await context.cookies(`${base}/auth/login`)).map(({ path }) => path)).toContain('/auth');
    const before = await sessions();
    expect(await refresh(page)).toEqual([401, 'auth.token_invalid']);
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
      expect(await refresh(page, origin)).toEqual([401, 'auth.token_missing']);
      await fetchFrom(page, `${origin}/auth/login`, credentials);
      expect(await names()).toEqual(['__Host-carrier-identity', 'other']);
      web.received.length = 0;
      const foreign = await open(sibling);
      const before = await sessions();
      for (const [path, body] of calls) {
        const url = `${origin}/auth/${path}`;
        // The preflight allows no credentials. Without them, the service rejects the request.
        expect(await fetchFrom(foreign, url, body)).toMatch(/Failed to fetch/);
        expect(await fetchFrom(foreign, url, body, { credentials: 'omit' })).toMatchObject(crossOrigin);
      }
      expect(await sessions()).toEqual(before);
      const own = (await cookies()).find(({ name }) => name !== 'other')?.value ?? '';
      expect(web.received.length).toBeGreaterThan(0);
      for (const received of web.received) expect(received).not.toContain(own);
      expect(await refresh(page, origin)).toEqual(refreshed);
    });
  });

  it('sends the cookie to no other application behind the same proxy, with BASE_PATH (H22)', async () => {
    await behindProxy('platform', '/identity', async (origin, web) => {
      const url = `${origin}/identity`;
      const page = await open(`${url}/docs/errors`);
      await fetchFrom(page, `${url}/auth/login`, credentials);
      const attributes = { path: '/identity/auth', secure: true, httpOnly: true, sameSite: 'Strict' };
      expect(await context.cookies()).toMatchObject([{ name: '__Secure-carrier-identity', ...attributes }]);
      expect(await refresh(page, url)).toEqual(refreshed);
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
    expect(await refresh(page)).toEqual(refreshed);
    await device.close();
  });
});
