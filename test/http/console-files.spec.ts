import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TestService } from '../support/service';

const assets = readdirSync(join(__dirname, '../../dist/console/assets'));
const script = assets.find((name) => /^index-.+\.js$/.test(name)) ?? '';
const nonceOf = (policy: unknown) => /'nonce-([A-Za-z0-9_-]{43})'/.exec(String(policy))?.[1];

describe('the files of the console', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ BASE_PATH: '/identity' });
  });
  afterAll(() => service.close());

  const get = (path: string, headers: Record<string, string> = {}) =>
    service.inject({ url: `/identity/console${path}`, headers });

  it.each(['', '/', '/users', '/login?from=x', '/roles/support.eu', '/roles/support.eu?from=index.js'])(
    'serves the page at "%s" with its base path and a strict policy',
    async (path) => {
      const { statusCode, headers, body } = await get(path);
      expect([statusCode, headers['cache-control']]).toEqual([200, 'no-cache']);
      // Gives pages that open the console no handle to its window.
      expect(headers['cross-origin-opener-policy']).toBe('same-origin');
      expect(body).toContain('<base href="/identity/console/" />');
      const policy = String(headers['content-security-policy']);
      expect(policy).toMatch(/default-src 'none'; script-src 'self'; .*require-trusted-types-for 'script'/);
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(body).toContain(`nonce="${nonceOf(policy)}"`);
    },
  );

  it('uses a new nonce for each response', async () => {
    const pages = [await get('/'), await get('/')];
    expect(new Set(pages.map(({ headers }) => nonceOf(headers['content-security-policy']))).size).toBe(2);
  });

  it('serves assets compressed and immutable', async () => {
    const { statusCode, headers } = await get(`/assets/${script}`, { 'accept-encoding': 'br' });
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-encoding': 'br',
      vary: 'accept-encoding',
      'x-content-type-options': 'nosniff',
    });
  });

  it.each([
    ...[
      '/assets/',
      '/assets/nothing-12345678.js',
      '/assets/../index.html',
      '/package.json',
      '/index.html',
      '/roles.js',
    ],
    ...['/roles/support.eu/index.js', '/users/support.eu', '/x/console/roles/support.eu', '/assets/roles/support.eu'],
    ...['/assets/%2e%2e/index.html', `/assets/${'x'.repeat(300)}`, `/assets/${'x'.repeat(250)}.js`],
    `/assets/${'x/'.repeat(3_000)}`,
  ])('responds to the unknown file (%#) with 404', async (path) => {
    const { statusCode, headers } = await get(path, { 'accept-encoding': 'br' });
    expect([statusCode, headers['content-type']]).toEqual([404, 'application/problem+json; charset=utf-8']);
  });

  it.each([
    ['range', 'bytes=99999999-'],
    ['if-match', '"other"'],
  ])('responds to the condition "%s: %s", which the asset does not meet, with 400', async (name, value) => {
    expect((await get(`/assets/${script}`, { [name]: value })).statusCode).toBe(400);
  });

  it('responds to other methods with 405', async () => {
    const { statusCode, headers } = await service.inject({ method: 'POST', url: '/identity/console/users' });
    expect([statusCode, headers.allow]).toEqual([405, 'GET, HEAD']);
  });
});

it('neither serves nor links to the console with CONSOLE=false', async () => {
  const service = await TestService.start({ CONSOLE: 'false' });
  expect((await service.get('/')).body.links).not.toHaveProperty('console');
  for (const url of ['/console', '/console/', '/console/users', `/console/assets/${script}`])
    expect([url, (await service.inject(url)).statusCode]).toEqual([url, 404]);
  await service.close();
});
