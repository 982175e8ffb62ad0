import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { AxeResults } from 'axe-core';
import { load } from 'js-yaml';
import type { Browser, Locator, Page } from 'playwright-core';
import { openBrowser } from '../support/browser';
import { committedDocument } from '../support/document';
import { password, TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await TestService.start();
});
afterAll(() => service.close());

describe('the main job, from invitation to end of session', () => {
  it('invites a Carrier User, who sets a password by the mailed link, logs in and loses the session', async () => {
    const { admin } = service;
    const body = {
      user_type: 'carrier',
      name: 'mary',
      email: 'mary@example.com',
      carrier_id: 'c1',
      roles: ['carrier_user'],
      locale: 'de-AT',
    };
    const created = await service.post('/user/create', { token: admin.token, body });
    expect(created.status).toBe(201);
    expect(created.headers['location']).toBe(`/user/${created.body.user_id}`);
    expect(created.body).toMatchObject({ status: 'invited', must_change_password: false, version: 1 });

    const mail = await service.mailbox.take('mary@example.com');
    expect(mail.source).toContain('Einladung');
    expect((await service.get(`/auth/reset/${mail.token}`)).status).toBe(200);
    expect((await service.post(`/auth/reset/${mail.token}`, { body: { password } })).status).toBe(204);

    const mary = await service.login('MARY@example.com');
    const me = await service.get('/user', { token: mary.token });
    expect(me.body).toMatchObject({ name: 'mary', status: 'active', permissions: [], online: true });
    expect(me.body.email_verified_at).not.toBeNull();

    const path = `/auth/session/list?user_id=${mary.user_id}&active=true`;
    const sessions = await service.get(path, { token: admin.token });
    expect(sessions.body.items).toHaveLength(1);
    expect((await service.delete(`/auth/session/${mary.session_id}`, { token: admin.token })).status).toBe(204);
    expect((await service.get('/user', { token: mary.token })).status).toBe(401);
    expect((await service.post('/auth/check-token', { body: { refresh_token: mary.refresh_token } })).status).toBe(401);
  });
});

describe('the API explorer', () => {
  it.each([
    ['json', 'application/json', JSON.parse],
    ['yaml', 'text/yaml', load],
  ])(
    'serves the document as openapi.%s, compressed if the client accepts it, and JSON in at most 60 KB',
    async (name, type, parse) => {
      const url = `/docs/openapi.${name}`;
      // Again, as the service keeps what it has compressed.
      for (const encoding of ['gzip, deflate, br', 'gzip']) {
        const sent = await service.inject({ url, headers: { 'accept-encoding': encoding } });
        const caching = { 'cache-control': 'public, max-age=300', vary: 'Accept-Encoding' };
        const form = { 'content-type': `${type}; charset=utf-8`, 'content-encoding': 'gzip' };
        expect(sent.headers).toMatchObject({ ...caching, ...form });
        const plain = await service.inject({ url, headers: { 'accept-encoding': 'gzip;q=0' } });
        expect(plain.headers).not.toHaveProperty('content-encoding');
        expect(gunzipSync(sent.rawPayload).equals(plain.rawPayload)).toBe(true);
        const servers = [{ url: '/', description: 'This service' }];
        expect(parse(plain.payload)).toEqual({ ...committedDocument, servers });
        if (name === 'json') expect([/\n/.test(plain.payload), sent.rawPayload.length < 60_000]).toEqual([false, true]);
      }
    },
  );

  /** The tests use one page in order: rendering the page takes most of the time. */
  describe('as a page', () => {
    const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
    let browser: Browser;
    let page: Page;
    const faults: string[] = [];
    beforeAll(async () => {
      browser = await openBrowser();
      page = await browser.newPage();
      // A busy machine takes long to render the page. Jest limits the test.
      page.setDefaultTimeout(0);
      page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
      page.on('pageerror', (error) => faults.push(error.message));
      await page.goto(`${service.url}/docs`);
      await page.locator('.opblock').first().waitFor();
    });
    afterEach(() => expect(faults).toEqual([]));
    afterAll(() => browser.close());

    /** Opens an operation and returns its element. */
    async function open(operationId: string): Promise<Locator> {
      const block = page.locator(`.opblock[id$="-${operationId}"]`);
      await block.locator('.opblock-summary-control').click();
      await block.locator('.opblock-body').waitFor();
      return block;
    }

    async function authorize(token: string): Promise<void> {
      await page.getByRole('button', { name: 'Authorize' }).click();
      const dialog = page.locator('.dialog-ux');
      expect(await dialog.innerText()).toMatch(/POST \/auth\/login[^]*access_token[^]*10 minutes/);
      await dialog.locator('input').first().fill(token);
      await dialog.getByRole('button', { name: 'Apply credentials' }).first().click();
      await dialog.getByRole('button', { name: 'Close' }).first().click();
    }

    async function execute(block: Locator): Promise<string> {
      await block.getByRole('button', { name: 'Try it out' }).click();
      await block.getByRole('button', { name: 'Execute' }).click();
      return block.locator('.live-responses-table tbody .response-col_status').first().innerText();
    }

    it('shows paging before a folded group of filters, and fills in no filter', async () => {
      const block = await open('listUsers');
      const rows = block.locator('tr[data-param-name]');
      const names = async () => Promise.all((await rows.all()).map((row) => row.getAttribute('data-param-name')));
      expect(await names()).toEqual(['deleted', 'order_by', 'order_dir', 'per_page', 'page', 'cursor', 'count']);
      await authorize(service.admin.token);
      expect(await execute(block)).toBe('200');
      expect(await block.locator('.request-url').innerText()).not.toMatch(/name=|_in=|cursor=|deleted=/);
      const group = block.getByRole('button', { name: /^Show the \d{2,3} filters$/ });
      expect(await group.getAttribute('aria-expanded')).toBe('false');
      await group.click();
      expect(await names()).toEqual(expect.arrayContaining(['name', 'created_at_gt', 'q']));
      expect(await block.locator('tr[data-param-name="status"]').innerText()).toContain('Example');
    });

    it('keeps the token over a reload, in its tab only, creates a user and imports a file as filled in', async () => {
      expect(await page.evaluate('localStorage.length')).toBe(0);
      await page.reload();
      expect(await page.evaluate('[localStorage.length, sessionStorage.length]')).toEqual([0, 1]);
      expect(await execute(await open('createUser'))).toBe('201');
      const importing = await open('importUsers');
      expect(await execute(importing)).toBe('200');
      expect(await importing.locator('.live-responses-table .microlight').first().innerText()).toMatch(/"changed": 1/);
    });

    it('shows a sample of each error with its code', async () => {
      const block = await open('changeUser');
      const sample = block.locator('tr.response[data-code="404"]');
      expect(await sample.innerText()).toMatch(/"code": "user.not_found"/);
      const codes = await block.locator('tr.response[data-code="409"] select option').allInnerTexts();
      expect(codes).toEqual(
        expect.arrayContaining(['User name already in use', 'The last administrator is protected']),
      );
    });

    it('has no critical findings of axe, with the open operations and the dialog for tokens', async () => {
      await page.evaluate(axe);
      for (const part of ['body', '.dialog-ux']) {
        if (part === '.dialog-ux') await page.getByRole('button', { name: 'Authorize' }).click();
        await page.locator(part).waitFor();
        const { violations } = await page.evaluate<AxeResults>(
          // Contrast is no critical rule, and takes most of the time.
          `axe.run('${part}', { resultTypes: ['violations'], rules: { 'color-contrast': { enabled: false } } })`,
        );
        const critical = violations.filter(({ impact }) => impact === 'critical');
        expect(critical.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)])).toEqual([]);
      }
    });
  });
});
