import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import type { AxeResults } from 'axe-core';
import { load } from 'js-yaml';
import type { Browser, Locator, Page } from 'playwright-core';
import { openBrowser } from '../support/console/browser';
import { freePort } from '../support/process/built-program';
import { committedDocument } from '../support/contract/document';
import { enrolApp } from '../support/logins/factors';
import { createKey } from '../support/data/keys';
import { moduleExamples } from '../support/contract/module-examples';
import { adminEmail, appSecret, password, TestService } from '../support/service';
import { changeSession } from '../support/data/session-rows';
import { createTestDatabase } from '../support/test-database';

const run = promisify(execFile);
const root = resolve(__dirname, '../..');
const issuer = 'http://localhost:3000';

/** Uses the generated types. Each `@ts-expect-error` is a mistake that they must detect. */
const program = `
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

const [baseUrl = '', login = '', password = '', factorLogin = '', recovery_code = '', oldToken = ''] =
  process.argv.slice(2);
const client = createClient<paths>({ baseUrl });

const session = await client.POST('/auth/login', { body: { login, password } });
if (session.error !== undefined) throw new Error(session.error.code);
const { access_token } = session.data;
client.use({ onRequest: ({ request }) => request.headers.set('Authorization', 'Bearer ' + access_token) as undefined });

const wanted: components['schemas']['CreateUserRequest'] = {
  user_type: 'carrier',
  carrier_id: 'c1',
  name: 'hedy',
  email: 'hedy@example.com',
};
const created = await client.POST('/user/create', { body: wanted });
if (created.error !== undefined) throw new Error(created.error.code);
const user: components['schemas']['UserResponse'] = created.data;
const again = await client.POST('/user/create', { body: wanted });
if (again.error === undefined) throw new Error('made twice');

const query = { name: 'hedy', user_type: 'carrier', count: 'exact' } as const;
const list = await client.GET('/user/list', { params: { query } });
if (list.error !== undefined) throw new Error(list.error.code);
const one = await client.GET('/user/{user_id}', { params: { path: { user_id: user.user_id } } });
const checked = await client.POST('/auth/check-token', { body: { token: access_token } });
const asForm = { 'Content-Type': 'application/x-www-form-urlencoded' };
const asked = await client.POST('/auth/introspect', { body: { token: access_token }, headers: asForm });
const removed = await client.DELETE('/user/{user_id}', { params: { path: { user_id: user.user_id } } });

const { error: required } = await client.POST('/auth/login', { body: { login: factorLogin, password } });
if (required === undefined || !('challenge' in required)) throw new Error('no challenge');
const { challenge = '', factors = [] } = required;
const kinds: ('totp' | 'passkey' | 'recovery_code')[] = factors;
const completed = await client.POST('/auth/second-factor', { body: { challenge, recovery_code } });
const old = createClient<paths>({ baseUrl, headers: { Authorization: 'Bearer ' + oldToken } });
const stale = await old.POST('/role/create', { body: { name: 'late', user_types: ['system'] } });

export function mistakes() {
  // @ts-expect-error there is no such path
  void client.GET('/users', {});
  // @ts-expect-error a required field is missing
  void client.POST('/auth/login', { body: { login } });
  // @ts-expect-error there is no such field
  const change: components['schemas']['ChangeUserRequest'] = { nickname: 'g' };
  // @ts-expect-error the kinds of users are known
  void client.POST('/user/create', { body: { ...wanted, user_type: 'robot' } });
  // @ts-expect-error there is no such field in the response
  void user.password_hash;
  // @ts-expect-error a name is a string
  const name: number = user.name;
  return [name, change];
}

console.log(JSON.stringify({
  created: [created.response.status, user.name, user.status],
  again: [again.response.status, again.error.code],
  list: [list.data.items.map((item) => item.name), list.data.total?.value],
  one: one.data?.email,
  checked: [checked.data?.active, checked.data?.user.name, checked.data?.permissions],
  asked: [asked.data?.active, asked.data?.username],
  removed: removed.response.status,
  required: [required.code, required.expires_in, kinds],
  completed: completed.data?.user.name,
  stale: [stale.error?.code, stale.response.headers.get('WWW-Authenticate')],
}));
`;

/** Responses of an unavailable service, or of another program at its address. */
const faults: [string, RequestListener][] = [
  ['503', (_request, response) => response.writeHead(503, { 'retry-after': '1' }).end('{"code":"service.overloaded"}')],
  ['a page', (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Maintenance')],
  ['no key set', (_request, response) => response.writeHead(200).end('{"keys":1}')],
  ['no response', (request) => request.socket.destroy()],
];

let service: TestService;
beforeAll(async () => {
  service = await TestService.start();
});
afterAll(() => service.close());

describe('the API explorer', () => {
  it.each([
    ['json', 'application/json', JSON.parse],
    ['yaml', 'text/yaml', load],
  ])(
    'serves the document as openapi.%s, compressed if the client accepts it, and JSON in at most 80 kB',
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
        expect(parse(plain.body)).toEqual({ ...committedDocument, servers });
        if (name === 'json') expect([/\n/.test(plain.body), sent.rawPayload.length < 80_000]).toEqual([false, true]);
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

describe('third-party client libraries', () => {
  /** Creates an administrator with a second factor and a session of an old authentication. */
  async function userWithFactor(): Promise<{ name: string; recovery_code: string; token: string }> {
    const login = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const { recovery_codes } = await enrolApp(service, login);
    await changeSession(service, login, `auth_time = now() - interval '10 minutes'`);
    return { name: login.name, recovery_code: recovery_codes[0] ?? '', token: login.token };
  }

  describe('in programs', () => {
    let directory: string;
    /** the environment of the examples in docs/modules.md */
    let env: Record<string, string | undefined>;
    const node = async (...args: string[]) =>
      (await run(process.execPath, args, { cwd: directory, env })).stdout.trim();

    beforeAll(async () => {
      const { key_id, key } = await createKey(service, ['token:introspect']);
      const { PATH } = process.env;
      env = { PATH, IDENTITY_URL: service.url, ISSUER: issuer, KEY_ID: key_id, KEY: key };
      // Below node_modules, so that the programs find their packages.
      const cache = join(root, 'node_modules', '.cache');
      mkdirSync(cache, { recursive: true });
      directory = mkdtempSync(join(cache, 'clients-'));
      writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
      const generator = join(root, 'node_modules/openapi-typescript/bin/cli.js');
      await node(generator, `${service.url}/docs/openapi.json`, '-o', 'schema.ts');
      writeFileSync(join(directory, 'program.ts'), program);
      const examples = ['online.mts', 'offline.mts'];
      for (const name of examples) writeFileSync(join(directory, name), moduleExamples().get(name) ?? '');
      const checks = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
      const compilerOptions = { ...checks, skipLibCheck: true, target: 'es2022', module: 'nodenext', types: ['node'] };
      writeFileSync(
        join(directory, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, files: ['program.ts', ...examples] }),
      );
      await node(join(root, 'node_modules/tsc7/bin/tsc')).catch((error: { stdout: string }) => {
        throw new Error(error.stdout);
      });
    });
    afterAll(() => rmSync(directory, { recursive: true, force: true }));

    it('lets openapi-typescript generate types with which an openapi-fetch program compiles and works', async () => {
      const { name, recovery_code, token } = await userWithFactor();
      const shown = await node('program.js', service.url, adminEmail, password, name, recovery_code, token);
      expect(JSON.parse(shown)).toEqual({
        created: [201, 'hedy', 'invited'],
        again: [409, 'user.name_taken'],
        list: [['hedy'], 1],
        one: 'hedy@example.com',
        checked: [true, 'administrator', ['*']],
        asked: [true, 'administrator'],
        removed: 204,
        required: ['auth.second_factor_required', 300, ['totp', 'recovery_code']],
        completed: name,
        stale: ['auth.reauthentication_required', 'Bearer error="insufficient_user_authentication", max_age="300"'],
      });
    });

    // `test/e2e/modules.long.spec.ts` tries the other languages.
    it('runs the programs of docs/modules.md, which print the user of a token and reject others', async () => {
      const languages = ['ts', 'py', 'java', 'go'].map((end) => (end === 'ts' ? 'mts' : end));
      const names = [...moduleExamples().keys()].map((name) => name.toLowerCase());
      expect(names.sort()).toEqual(languages.flatMap((end) => [`online.${end}`, `offline.${end}`]).sort());
      const user = await service.loginAs({ roles: ['carrier_administrator'] });
      const online = (await node('online.mjs', user.token)).split('\n');
      const pattern = expect.stringMatching(`^${user.name} .*user:read`);
      expect(online).toEqual([pattern, pattern]);
      expect(await node('offline.mjs', user.token)).toBe(`${user.user_id} carrier_administrator`);
      const forged = `${user.token.slice(0, -4)}AAAA`;
      expect([await node('online.mjs', forged), await node('offline.mjs', forged)]).toEqual([
        'inactive\ninactive',
        'inactive',
      ]);
      await service.post('/auth/logout', { token: user.token, body: {} });
      expect(await node('online.mjs', user.token)).toBe('inactive\ninactive');
    });

    it('prints "unavailable" for a valid token while the keys cannot be fetched (J20)', async () => {
      const { token } = await service.loginAs();
      for (const [fault, answer] of faults) {
        const server = createServer(answer).listen(0, '127.0.0.1');
        await once(server, 'listening');
        const IDENTITY_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
        const options = { cwd: directory, env: { ...env, IDENTITY_URL } };
        const { stdout } = await run(process.execPath, ['offline.mjs', token], options);
        expect([fault, stdout.trim()]).toEqual([fault, 'unavailable']);
        server.closeAllConnections();
        server.close();
      }
    });
  });
});

const requests = [
  ...['POST /auth/reset/… 204', 'POST /auth/login 200', 'GET /user 200', 'POST /user/create 201'],
  ...['POST /auth/reset/… 204', 'POST /auth/login 200', 'POST /auth/check-token 200'],
  ...['GET /user/list 200', 'PATCH /user/all 200', 'PATCH /user/all 200', 'GET /user/operation/… 200'],
  ...['POST /user/operation/…/undo 202', 'GET /audit/list 200'],
  ...['GET /user/export 200', 'POST /user/import 200', 'POST /user/import 200', 'POST /user/import 200'],
  ...['GET /auth/session/list 200', 'DELETE /auth/session/… 204', 'GET /user 401'],
  ...['POST /role/create 201', 'POST /user/create 201', 'POST /auth/login 200', 'POST /auth/key/create 201'],
  ...['GET /user/list 200', 'POST /auth/introspect 200'],
];

describe('the README', () => {
  it('contains a tour that works as written on another port, shows each response and leaves no file', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'carrier-identity-tour-'));
    const database = await createTestDatabase();
    // Five digits: the line of a mailed link is longer than 76 characters, and the mail breaks it.
    const port = await freePort();
    const env = { PATH: process.env['PATH'], PORT: String(port), DATABASE_URL: database.url, APP_SECRET: appSecret };
    const service = spawn(process.execPath, [resolve('dist/src/main.js')], { cwd: directory, env });
    try {
      let output = '';
      const link = await new Promise<string>((done, fail) => {
        service.once('exit', () => fail(new Error(output)));
        service.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
        service.stdout.on('data', (chunk: Buffer) => {
          output += chunk.toString();
          const found = /http:\/\/localhost:\d+\/auth\/reset\/[A-Za-z0-9_-]{43}/.exec(output);
          if (found !== null) done(found[0]);
        });
      });
      const blocks = [...readFileSync('README.md', 'utf8').matchAll(/<!-- tour -->\n```sh\n([\s\S]*?)```/g)].map(
        ([, block]) => block,
      );
      expect(blocks).toHaveLength(7);
      const script = blocks
        .join('\n')
        .replace('B=http://localhost:3000', `B=http://localhost:${port}`)
        .replace('$B/auth/reset/...', link);
      const { stdout } = await promisify(execFile)('bash', ['-eo', 'pipefail', '-c', script], {
        cwd: directory,
        env: { PATH: process.env['PATH'] },
      });
      // Each request is printed with its status and its response.
      const [, ...parts] = stdout.split(/^> ([A-Z]+ \/[^?:]*).*: (\d+)$/m);
      const steps = Array.from({ length: parts.length / 3 }, (_, index) => parts.slice(index * 3, index * 3 + 3));
      const requestOf = (path = '') => path.replace(/[\w-]{36,43}/, '…');
      expect(steps.map(([request, status]) => `${requestOf(request)} ${status}`)).toEqual(requests);
      const bodies = steps.flatMap(([, , text = '']) => /^\{\n {2}[^]*?^\}$/m.exec(text)?.[0] ?? []);
      const answers = bodies.map((text) => JSON.parse(text) as Record<string, unknown>);
      const has = (fields: Record<string, unknown>) => expect(answers).toContainEqual(expect.objectContaining(fields));
      has({ name: 'administrator', permissions: ['*'] });
      has({ name: 'ada', status: 'invited' });
      has({ active: true, refreshed: false });
      has({ matched: 1, would_change: 1 });
      has({ matched: 1, changed: 1 });
      has({ kind: 'undo', status: 'done', changed: 1 });
      has({ matched: 1, would_create: 1, skipped_count: 0 });
      has({ kind: 'import', status: 'done', changed: 1, skipped_count: 0 });
      const event = expect.objectContaining({ changes: { attributes: { after: { tier: 'gold' }, before: {} } } });
      has({ items: expect.arrayContaining([event]) });
      has({ status: 401, code: 'auth.token_invalid' });
      has({ name: 'billing_clerk', permissions: ['billing:read', 'user:read'] });
      has({ name: 'linus', roles: ['billing_clerk'] });
      expect(answers.at(-1)).toMatchObject({ active: true, username: 'linus', scope: 'billing:read user:read' });
      // The service itself writes to .data; the tour leaves nothing in the checkout.
      expect(readdirSync(directory)).toEqual(['.data']);
    } finally {
      service.kill('SIGTERM');
      await new Promise((done) => service.once('exit', done));
      await database.drop();
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
