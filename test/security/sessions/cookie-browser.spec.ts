import type { Browser, BrowserContext, Page } from 'playwright-core';
import { openBrowser } from '../../support/browser';
import { freePort } from '../../support/built-program';
import { addPasskey, PasskeyBrowser, signLogin } from '../../support/passkeys';
import { password, TestService } from '../../support/in-process';
import { WebSite } from '../../support/web-site';

/** The response to a request of a page. */
interface PageAnswer {
  status: number;
  body: Record<string, never> & { code?: string; access_token?: string; refresh_token?: string };
}

/** Options of `fetch` that a page may change. */
interface FetchOptions {
  mode?: 'no-cors';
  credentials?: 'omit';
  headers?: Record<string, string>;
}

/** Sends a request with cookies from a page, as the script of the page would. */
async function fetchFrom(page: Page, url: string, body: object, init: FetchOptions = {}): Promise<PageAnswer | string> {
  return page.evaluate(
    async ([address, json, options]) => {
      const headers = { 'content-type': 'application/json' };
      try {
        const response = await fetch(address, {
          method: 'POST',
          credentials: 'include',
          headers,
          body: json,
          ...options,
        });
        const text = await response.text();
        return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
      } catch (error) {
        return String(error);
      }
    },
    [url, JSON.stringify({ transport: 'cookie', ...body }), init] as const,
  );
}

describe('the refresh cookie in a real browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  let service: TestService;
  let context: BrowserContext;
  let sites: WebSite[];
  beforeEach(async () => {
    context = await browser.newContext({ ignoreHTTPSErrors: true });
    sites = [];
  });
  afterEach(async () => {
    await context.close();
    await Promise.all(sites.map((site) => site.stop()));
    await service.close();
  });

  const credentials = { login: 'admin@example.com', password };
  const site = async (...given: Parameters<typeof WebSite.start>): Promise<WebSite> => {
    const started = await WebSite.start(...given);
    sites.push(started);
    return started;
  };
  const open = async (url: string): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(url);
    return page;
  };
  /** The stored state of all sessions. */
  const sessions = () =>
    service.rows('select session_id, refresh_token_hash, ended_at from sessions order by session_id');
  const refresh = async (page: Page, base: string) => {
    const answer = await fetchFrom(page, `${base}/auth/check-token`, {});
    return typeof answer === 'string' ? answer : [answer.status, answer.body.code];
  };
  const refreshed = [200, undefined];

  it('lets only pages of the service use and set the cookie, not another port of localhost (H22)', async () => {
    const [port, otherPort] = [await freePort(), await freePort()];
    const [base, other] = [`http://localhost:${port}`, `http://localhost:${otherPort}`];
    service = await TestService.start({ PUBLIC_URL: base, CORS_ORIGINS: `${other},http://evil.test:${otherPort}` });
    await service.app.listen(port, '127.0.0.1');
    await site(otherPort);
    const page = await open(`${base}/docs/errors`);
    expect(await fetchFrom(page, `${base}/auth/login`, credentials)).toMatchObject({ status: 200 });
    const [cookie, ...others] = await context.cookies();
    expect(others).toEqual([]);
    expect(cookie).toMatchObject({
      name: `carrier-identity-${port}`,
      domain: 'localhost',
      path: '/',
      httpOnly: true,
      sameSite: 'Strict',
    });
    expect(await page.evaluate('document.cookie')).toBe('');
    // A reload, and a second tab.
    await page.reload();
    for (const tab of [page, await open(`${base}/docs/errors`)]) expect(await refresh(tab, base)).toEqual(refreshed);

    const [before, kept] = [await sessions(), await context.cookies()];
    for (const origin of [other, `http://evil.test:${otherPort}`]) {
      const foreign = await open(origin);
      const simple = { 'content-type': 'text/plain' };
      const kinds: FetchOptions[] = [{}, { headers: simple }, { mode: 'no-cors', headers: simple }];
      for (const init of kinds)
        for (const [path, body] of Object.entries({ login: credentials, 'check-token': {}, logout: {} }))
          await fetchFrom(foreign, `${base}/auth/${path}`, body, init);
      // Without credentials, the page may read the rejection.
      const answer = await fetchFrom(foreign, `${base}/auth/login`, credentials, { credentials: 'omit' });
      expect(answer).toMatchObject({ status: 403, body: { code: 'auth.cross_origin' } });
    }
    expect(await sessions()).toEqual(before);
    expect(await context.cookies()).toEqual(kept);
    expect(await refresh(page, base)).toEqual(refreshed);
  });

  it('adopts no cookie that another port of localhost plants beside its own (H22)', async () => {
    const [port, otherPort] = [await freePort(), await freePort()];
    const base = `http://localhost:${port}`;
    service = await TestService.start({ PUBLIC_URL: base });
    await service.app.listen(port, '127.0.0.1');
    await site(otherPort);
    const page = await open(`${base}/docs/errors`);
    const plant = (setCookie: string) =>
      open(`http://localhost:${otherPort}/?set-cookie=${encodeURIComponent(setCookie)}`);
    // The cookie of a service on another port does not affect this service.
    await plant(`carrier-identity-${otherPort}=${service.admin.refresh_token}; Path=/`);
    expect(await refresh(page, base)).toEqual([401, 'auth.token_missing']);
    await fetchFrom(page, `${base}/auth/login`, credentials);
    expect(await refresh(page, base)).toEqual(refreshed);
    const script = await open(`http://localhost:${otherPort}`);
    await script.evaluate(`document.cookie = 'carrier-identity-${port}=planted; path=/'`);
    expect(await refresh(page, base)).toEqual(refreshed);
    await plant(`carrier-identity-${port}=${service.admin.refresh_token}; Path=/auth`);
    expect((await context.cookies(`${base}/auth/login`)).map(({ path }) => path).sort()).toContain('/auth');
    const before = await sessions();
    expect(await refresh(page, base)).toEqual([401, 'auth.token_invalid']);
    expect(await sessions()).toEqual(before);
  });

  it('keeps the cookie from sibling hosts, which cannot plant it either (H22)', async () => {
    const port = await freePort();
    const [base, sibling] = [`https://identity.example.test:${port}`, `https://evil.example.test:${port}`];
    service = await TestService.start({ PUBLIC_URL: base, CORS_ORIGINS: sibling });
    const { port: inner } = await service.listen();
    const web = await site(port, { tls: true, service: { port: inner, host: 'identity.', path: '/' } });
    const plant = (setCookie: string) => open(`${sibling}/?set-cookie=${encodeURIComponent(setCookie)}`);
    const { refresh_token } = service.admin;
    await plant('other=1; Domain=example.test; Path=/; Secure');
    for (const domain of ['; Domain=example.test', ''])
      await plant(`__Host-carrier-identity=${refresh_token}; Path=/; Secure${domain}`);
    const page = await open(`${base}/docs/errors`);
    const names = async () => (await context.cookies(`${base}/auth/login`)).map(({ name }) => name).sort();
    expect(await names()).toEqual(['other']);
    expect(await refresh(page, base)).toEqual([401, 'auth.token_missing']);
    await fetchFrom(page, `${base}/auth/login`, credentials);
    expect(await names()).toEqual(['__Host-carrier-identity', 'other']);
    web.received.length = 0;
    const foreign = await open(sibling);
    const before = await sessions();
    for (const [path, body] of Object.entries({ login: credentials, 'check-token': {}, logout: {} })) {
      const url = `${base}/auth/${path}`;
      // The preflight allows no credentials. Without them, the service rejects the request itself.
      expect(await fetchFrom(foreign, url, body)).toMatch(/Failed to fetch/);
      expect(await fetchFrom(foreign, url, body, { credentials: 'omit' })).toMatchObject({
        status: 403,
        body: { code: 'auth.cross_origin' },
      });
    }
    expect(await sessions()).toEqual(before);
    const own = (await context.cookies(`${base}/auth/login`)).find(({ name }) => name !== 'other')?.value ?? '';
    expect(web.received.length).toBeGreaterThan(0);
    for (const cookies of web.received) expect(cookies).not.toContain(own);
    expect(await refresh(page, base)).toEqual(refreshed);
  });

  it('sends the cookie to no other application behind the same proxy, with BASE_PATH (H22)', async () => {
    const port = await freePort();
    const origin = `https://platform.example.test:${port}`;
    const base = `${origin}/identity`;
    service = await TestService.start({ PUBLIC_URL: origin, BASE_PATH: '/identity' });
    const { port: inner } = await service.listen();
    const web = await site(port, { tls: true, service: { port: inner, host: 'platform.', path: '/identity/' } });
    const page = await open(`${base}/docs/errors`);
    await fetchFrom(page, `${base}/auth/login`, credentials);
    expect(await context.cookies()).toMatchObject([
      { name: '__Secure-carrier-identity', path: '/identity/auth', secure: true, httpOnly: true, sameSite: 'Strict' },
    ]);
    expect(await refresh(page, base)).toEqual(refreshed);
    web.received.length = 0;
    for (const path of ['/', '/auth', '/identity', '/billing/auth', '/identity-2/auth']) await open(origin + path);
    expect(web.received.length).toBeGreaterThanOrEqual(5);
    expect(new Set(web.received)).toEqual(new Set(['']));
    const left = await fetchFrom(page, `${base}/auth/logout`, {});
    expect([left, await context.cookies()]).toEqual([{ status: 204, body: {} }, []]);
  });

  it('logs in with a passkey, with the refresh token only in the cookie (S20)', async () => {
    const port = await freePort();
    const base = `http://localhost:${port}`;
    service = await TestService.start({ PUBLIC_URL: base });
    await service.app.listen(port, '127.0.0.1');
    const user = await service.loginAs();
    const device = await PasskeyBrowser.open(browser, base);
    expect((await addPasskey(service, device, user.token)).status).toBe(201);
    const page = await open(`${base}/docs/errors`);
    const answer = await fetchFrom(page, `${base}/auth/passkey/login`, await signLogin(service, device));
    expect(answer).toMatchObject({ status: 200, body: { user: { user_id: user.user_id } } });
    expect(JSON.stringify(answer)).not.toContain('"refresh_token"');
    expect(await refresh(page, base)).toEqual(refreshed);
    await device.close();
  });
});
