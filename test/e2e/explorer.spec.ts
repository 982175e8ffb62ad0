import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { gunzipSync } from 'node:zlib';
import type { AxeResults } from 'axe-core';
// eslint-disable-next-line @typescript-eslint/no-require-imports -- the test replaces a function
import yaml = require('js-yaml');
import type { Browser, Locator, Page } from 'playwright-core';
import { openBrowser } from '../support/browser';
import { committedDocument } from '../support/document';
import { TestService } from '../support/service';

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Returns the headers and the body of a response as it was sent. */
function fetchRaw(url: string, headers: Record<string, string>): Promise<{ body: Buffer; headers: object }> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ body: Buffer.concat(chunks), headers: response.headers }));
    }).on('error', reject);
  });
}

describe('the API explorer', () => {
  let service: TestService;
  let browser: Browser;
  let base: string;
  beforeAll(async () => {
    service = await TestService.start();
    base = (await service.listen()).url;
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
  });

  it('serves the document minified and compressed, in at most 60 KB', async () => {
    const sent = await fetchRaw(`${base}/docs/openapi.json`, { 'accept-encoding': 'gzip, deflate, br' });
    expect(sent.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-encoding': 'gzip',
      'cache-control': 'public, max-age=300',
      vary: 'Accept-Encoding',
    });
    expect(sent.body.length).toBeLessThan(60_000);
    const plain = await fetchRaw(`${base}/docs/openapi.json`, { 'accept-encoding': 'gzip;q=0' });
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(gunzipSync(sent.body).equals(plain.body)).toBe(true);
    const servers = [{ url: '/', description: 'This service' }];
    expect(plain.body.toString()).toBe(JSON.stringify({ ...committedDocument, servers }));
  });

  it('serializes openapi.yaml once, not on each anonymous request', async () => {
    const url = `${base}/docs/openapi.yaml`;
    const serialized = jest.spyOn(yaml, 'dump');
    const sent = await fetchRaw(url, { 'accept-encoding': 'gzip' });
    expect(sent.headers).toMatchObject({ 'content-type': 'text/yaml; charset=utf-8', 'content-encoding': 'gzip' });
    const plain = await fetchRaw(url, {});
    expect(gunzipSync(sent.body).equals(plain.body)).toBe(true);
    const servers = [{ url: '/', description: 'This service' }];
    expect(yaml.load(plain.body.toString())).toEqual({ ...committedDocument, servers });
    await fetchRaw(url, { 'accept-encoding': 'gzip' });
    expect(serialized).toHaveBeenCalledTimes(1);
  });

  /** The tests use one page in order: rendering the page takes most of the time. */
  describe('as a page', () => {
    let page: Page;
    const faults: string[] = [];
    beforeAll(async () => {
      page = await browser.newPage();
      page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
      page.on('pageerror', (error) => faults.push(error.message));
      await page.goto(`${base}/docs`);
      await page.locator('.opblock').first().waitFor();
    });
    afterEach(() => expect(faults).toEqual([]));

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
