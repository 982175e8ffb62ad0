import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { UserResponse } from '../../../src/users/users.dto';
import { faultsOf } from './accessibility';
import { openBrowser } from './browser';
import { freePort } from '../process/built-program';
import { sees, type Shown, userMenu } from './console-page';
import { desktop } from './screens';
import { adminEmail, password, TestService } from '../service';
import { WebSite } from './web-site';

const images = join(__dirname, '../../../docs/images/console');
const violationMark = 'Violation of the security policy:';

/** The console in a real browser, served by a real service. */
export class Console {
  service!: TestService;
  /** URL of the service, with its base path */
  url!: string;
  private proxy: WebSite | null = null;
  private browser!: Browser;
  private contexts: BrowserContext[] = [];
  private faults: string[] = [];

  constructor(
    private readonly env: Record<string, string>,
    private readonly isProxied: boolean,
    private readonly host: string,
  ) {}

  /** Starts service and browser. */
  async start(): Promise<void> {
    const port = await freePort();
    const origin = `http://${this.host}:${port}`;
    const listening = { PORT: this.isProxied ? '0' : String(port) };
    // The administrator logs in once per test.
    const settings = { PUBLIC_URL: origin, SESSIONS_PER_USER_MAX: '1000', ...listening, ...this.env };
    this.service = await TestService.start(settings);
    const path = this.service.config.BASE_PATH;
    this.url = origin + path;
    if (this.isProxied)
      this.proxy = await WebSite.start(port, { service: { port: this.service.port, host: this.host, path } });
    this.browser = await openBrowser();
  }

  /** Stops browser and service. */
  async stop(): Promise<void> {
    await this.browser.close();
    await this.proxy?.stop();
    await this.service.close();
  }

  /** Returns the URL of a page of the console, such as `/users`. */
  at(path = '/'): string {
    return `${this.url}/console${path}`;
  }

  /** Opens a page of the console in a new browser profile. */
  async open(path = '/', options: BrowserContextOptions = {}): Promise<Page> {
    const page = await this.newPage(options);
    await page.goto(this.at(path));
    return page;
  }

  /**
   * Opens a page in a new browser profile that has a session, by default of the administrator. Sets
   * the cookie of the session without the login page.
   */
  async login(login = adminEmail, path = '/', options: BrowserContextOptions = {}): Promise<Page> {
    const page = await this.newPage(options);
    const answer = await page.context().request.post(`${this.url}/auth/login`, {
      data: { login, password, transport: 'cookie' },
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    if (!answer.ok()) throw new Error(`login of ${login}: ${await answer.text()}`);
    await page.goto(this.at(path));
    await userMenu(page).waitFor();
    return page;
  }

  /** Creates a user, and opens a page in a new browser profile that has a session of this user. */
  async loginAs(
    fields: Record<string, unknown>,
    path = '/',
    options: BrowserContextOptions = {},
  ): Promise<{ page: Page; user_id: string; name: string; email: string }> {
    const user = await this.service.createUser(fields);
    return { ...user, page: await this.login(user.name, path, options) };
  }

  /** Fills in the login page and sends it. */
  async fillLogin(page: Page, login: string, secret = password): Promise<void> {
    await page.getByLabel('User name or e-mail address').fill(login);
    await page.getByLabel('Password', { exact: true }).fill(secret);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
  }

  /** Logs in on the login page, and waits until the page shows texts or elements. */
  async logInOn(page: Page, login: string, ...shown: Shown[]): Promise<void> {
    await this.fillLogin(page, login);
    await sees(page, ...shown);
  }

  /** Opens another page of the console, and waits until it shows texts or elements. */
  async goto(page: Page, path: string, ...shown: Shown[]): Promise<void> {
    await page.goto(this.at(path));
    await sees(page, ...shown);
  }

  /** Returns a user as the administrator reads it over the API. */
  async userOf(user_id: string): Promise<UserResponse> {
    const { body } = await this.service.get(`/user/${user_id}`, { token: this.service.admin.token });
    return body;
  }

  /** Ends all sessions of a user over the API. */
  async endSessions(user_id: string): Promise<void> {
    const { token } = this.service.admin;
    expect((await this.service.delete(`/auth/session/all?user_id=${user_id}`, { token })).status).toBe(200);
  }

  /** Makes the authentication of a user in the browser too old for sensitive changes. */
  async ageAuthentication(user_id: string): Promise<void> {
    await this.service.rows(
      `update sessions set auth_time = now() - interval '10 minutes' where user_id = $1 and session_id <> $2`,
      [user_id, this.service.admin.session_id],
    );
  }

  /** Closes all pages. Fails if a page had a fault. */
  async closePages(): Promise<void> {
    for (const context of this.contexts.splice(0)) await context.close();
    expect(this.faults.splice(0)).toEqual([]);
  }

  private async newPage(options: BrowserContextOptions): Promise<Page> {
    const context = await this.browser.newContext({
      viewport: desktop,
      locale: 'en-GB',
      reducedMotion: 'reduce',
      ...options,
    });
    this.contexts.push(context);
    await context.addInitScript(
      `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
         console.error('${violationMark}', violatedDirective, blockedURI, sample))`,
    );
    context.on('page', (page) => this.watch(page));
    return context.newPage();
  }

  private watch(page: Page): void {
    page.on('pageerror', (error) => this.faults.push(String(error)));
    page.on('console', (message) => {
      if (message.text().startsWith(violationMark)) this.faults.push(message.text());
    });
    page.on('request', (request) => {
      const { origin } = new URL(request.url());
      if (origin !== new URL(this.url).origin && origin !== 'null') this.faults.push(`request to ${request.url()}`);
    });
  }
}

/**
 * Starts a console for the tests of a file. Call it in `describe`. A test fails if a page violates
 * its security policy, throws an error, or sends a request to another origin.
 * @param isProxied whether a proxy forwards `BASE_PATH` to the service and serves all other paths
 * @param host localhost, where browsers allow cookies and passkeys over HTTP, or a `.test` name
 */
export function useConsole(env: Record<string, string> = {}, isProxied = false, host = 'localhost'): Console {
  const subject = new Console(env, isProxied, host);
  beforeAll(() => subject.start());
  afterAll(() => subject.stop());
  afterEach(() => subject.closePages());
  return subject;
}

/**
 * Expects no finding of axe in light and in dark colors, and no sideways scrolling at 360 px.
 * @param isWide whether axe sees the page as on a desktop, where lists are tables
 */
export async function expectAccessible(page: Page, isWide = false): Promise<void> {
  // A page that still loads has no heading.
  await page.locator('h1').first().waitFor({ state: 'attached' });
  expect(await faultsOf(page, isWide ? desktop : undefined)).toEqual([]);
  await page.setViewportSize(desktop);
}

/** Writes `docs/images/console/<name>.png` with `WRITE_SCREENSHOTS=1`. Does nothing otherwise. */
export async function screenshot(
  page: Page,
  name: string,
  { colorScheme = 'light', viewport = desktop }: Pick<BrowserContextOptions, 'colorScheme' | 'viewport'> = {},
): Promise<void> {
  if (process.env['WRITE_SCREENSHOTS'] !== '1') return;
  mkdirSync(images, { recursive: true });
  await page.setViewportSize(viewport ?? desktop);
  await page.emulateMedia({ colorScheme });
  await page.screenshot({ path: join(images, `${name}.png`) });
  await page.emulateMedia({ colorScheme: 'light' });
}
