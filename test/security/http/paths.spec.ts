import { document } from '../../support/document';
import { requestHead } from '../../support/raw-connection';
import { rawRequest, statusOf } from '../../support/raw-request';
import { TestService } from '../../support/service';

type Variant = (path: string) => string;
const last = (path: string) => path.slice(path.lastIndexOf('/') + 1);
const parent = (path: string) => path.slice(0, path.lastIndexOf('/'));

const hex = (text: string) => [...text].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('');

const cases: Variant[] = [
  (path) => path.toUpperCase(),
  (path) => `/${path.charAt(1).toUpperCase()}${path.slice(2)}`,
  (path) => path.replace(/[a-z](?=[^a-z]*$)/, (letter) => letter.toUpperCase()),
  (path) => path.replace(/\/[a-z]/g, (start) => start.toUpperCase()),
];

const slashes: Variant[] = [
  ...[
    '/',
    '//',
    '/.',
    '/./',
    '/..',
    '/../',
    ';',
    ';x=1',
    '/;',
    '/;/',
    '\\',
    '\\x',
    '/*',
    ':',
    '*',
    '~',
    '!',
    ',',
    '.',
    '.json',
    '.html',
    '..;/',
    '/..;/',
    '@',
    '&',
    '=',
    '|',
    '^',
  ].map(
    (end): Variant =>
      (path) =>
        path + end,
  ),
  ...[
    '/',
    '//',
    '/.',
    '/..',
    '/;',
    '/x/..',
    '/docs/..',
    '/health/live/..',
    '/health/live/..;',
    '/auth/login/../..',
    '//evil.test',
    '\\',
    '/\\',
    '/api',
    '/v1',
    '/.well-known/..',
    '/.well-known',
  ].map(
    (start): Variant =>
      (path) =>
        start + path,
  ),
  (path) => `${parent(path)}//${last(path)}`,
  (path) => `${parent(path)}/./${last(path)}`,
  (path) => `${parent(path)}/x/../${last(path)}`,
  (path) => `${parent(path)}/;/${last(path)}`,
  (path) => `${parent(path)}\\${last(path)}`,
  (path) => path.replace(/\//g, '\\'),
  (path) => path.slice(1),
  (path) => hex(path),
];

const escapes: Variant[] = [
  (path) => `/${hex(path.charAt(1))}${path.slice(2)}`,
  (path) => `/${hex(path.charAt(1)).toUpperCase()}${path.slice(2)}`,
  (path) => `${path.slice(0, -1) || '/'}${hex(path.slice(-1))}`,
  (path) => `/${hex(path.slice(1))}`,
  (path) => `${parent(path) || '/x'}%2f${last(path)}`,
  (path) => `${parent(path)}/%2e/${last(path)}`,
  (path) => `${parent(path)}/x/%2e%2e/${last(path)}`,
  (path) => `/${hex(path.charAt(1)).replace('%', '%25')}${path.slice(2)}`,
  (path) => `/%u00${path.charCodeAt(1).toString(16)}${path.slice(2)}`,
  (path) => `/%c1%${(path.charCodeAt(1) | 0x80).toString(16)}${path.slice(2)}`,
  ...[
    '%',
    '%zz',
    '%2',
    '%00',
    '%20',
    '%09',
    '%0a',
    '%0d%0aX:y',
    '%2f',
    '%2F',
    '%5c',
    '%3b',
    '%3f',
    '%3Fx=1',
    '%23',
    '%2523',
    '%2e',
    '%2e%2e',
    '%2e%2e%2f',
    '%252e',
    '%c0%ae',
    '%c0%af',
    '%e2%80%ae',
    '%ff',
    '%ed%a0%80',
  ].flatMap((text): Variant[] => [(path) => path + text, (path) => `/${text}${path}`]),
];

const unicode: Variant[] = [
  (path) => path.replace('s', '\u017f'),
  (path) => path.replace('u', '\uff55'),
  (path) => path.replace('/', '\uff0f'),
  (path) => `/${path.replace('/', '\u2215')}`,
  (path) => `${path}\u0301`,
  (path) => `${path}\u200b`,
  (path) => `${path}\ufeff`,
  (path) => `${path}\u3002`,
  (path) => `${path}\u{1F600}`,
  (path) => path + 'a'.repeat(10_000),
  (path) => `${path}/${'a/'.repeat(5_000)}`,
];

describe('paths that resemble a protected route', () => {
  let service: TestService;
  let port: number;
  let user_id: string;
  let routes: { method: string; path: string; closed: boolean }[];

  beforeAll(async () => {
    service = await TestService.start();
    ({ user_id } = await service.createUser());
    ({ port } = await service.listen());
    routes = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path: path.replace(/\{[^}]+\}/g, path.includes('{token}') ? 'A'.repeat(43) : user_id),
        closed: operation['x-permission'] !== 'none',
      })),
    );
    expect(closedRoutes().length).toBeGreaterThan(14);
  });
  afterAll(() => service.close());

  const closedRoutes = () => routes.filter(({ closed }) => closed);
  const send = async (method: string, target: string, token?: string) => {
    const authorization = token === undefined ? undefined : `Bearer ${token}`;
    const head = requestHead(method, target, { authorization, 'content-length': '0', connection: 'close' });
    return statusOf(await rawRequest(port, Buffer.from(head)));
  };

  /**
   * Sends each variant to a third of the routes, in turn, as an administrator. Repeats without a
   * login the requests that do not return 404. Returns the hits.
   */
  async function strays(variants: Variant[], refusals: number[]): Promise<string[]> {
    const probes = new Map(
      variants.flatMap((vary, index) =>
        thirdOf(routes, index).map((route) => [
          `${route.method} ${vary(route.path)}`,
          { ...route, target: vary(route.path) },
        ]),
      ),
    );
    // An id in upper case is the same id.
    const own = new Set(routes.map(({ method, path }) => `${method} ${path}`));
    const work = [...probes].filter(([key]) => !own.has(key.replace(new RegExp(user_id, 'i'), user_id)));
    const found: string[] = [];
    await inParallel(work, async ([key, { method, target, closed }]) => {
      const administrator = closed ? await send(method, target, service.admin.token) : null;
      const anonymous = administrator === 404 ? 404 : await send(method, target);
      if (![...refusals, 401].includes(anonymous) || (administrator !== null && !refusals.includes(administrator)))
        found.push(`${key} → ${anonymous}, ${administrator}`);
    });
    expect(work.length).toBeGreaterThan(60);
    return found;
  }

  it('reaches no handler by another case (H3)', async () => {
    // 400: a missing body is rejected before the id is read
    expect(await strays(cases, [400, 404, 405])).toEqual([]);
  });

  it('reaches no handler by slashes, dots, semicolons and backslashes (H4)', async () => {
    expect(await strays(slashes, [400, 404, 405])).toEqual([]);
  });

  it('reaches no handler with percent-encoding (H5)', async () => {
    expect(await strays(escapes, [404])).toEqual([]);
    expect((await service.get(`/user/${user_id}`, { token: service.admin.token })).status).toBe(200);
  });

  it('opens no protected path by absolute, authority and asterisk targets (H6)', async () => {
    const found: string[] = [];
    const forms: Variant[] = [
      (path) => `http://localhost${path}`,
      (path) => `http://evil.test${path}`,
      (path) => `https://localhost:${port}${path}`,
      (path) => `HTTP://x${path}`,
      (path) => `//localhost${path}`,
      (path) => `localhost${path}`,
      () => `localhost:${port}`,
      () => '*',
      (path) => `http://localhost/auth/login@${path}`,
      (path) => `file://${path}`,
    ];
    for (const [index, form] of forms.entries())
      for (const { method, path } of thirdOf(closedRoutes(), index)) {
        const target = form(path);
        const status = await send(method, target);
        if (![400, 401, 404, 405].includes(status)) found.push(`${method} ${target} → ${status}`);
      }
    expect(found).toEqual([]);
    for (const target of [`localhost:${port}`, 'evil.test:443', '/user'])
      expect([0, 400, 404, 405]).toContain(await send('CONNECT', target));
    expect([404, 405]).toContain(await send('OPTIONS', '*'));
    expect(await send('GET', '/health/live')).toBe(200);
  });

  it('opens no protected path by queries and fragments (H7)', async () => {
    const ends = [
      '?',
      '?x=/auth/login',
      '?/auth/login',
      '?/../../health/live',
      '?%2fhealth%2flive',
      '#',
      '#/auth/login',
      '#?x',
      '?#',
      '%3f/health/live',
      '?token=x',
      '?access_token=x',
      '?x-auth-token=x',
      '?_method=GET',
      '?format=json',
      '??',
      '?%',
      '?%zz=%',
    ];
    const found: string[] = [];
    for (const [index, end] of ends.entries())
      for (const { method, path } of thirdOf(closedRoutes(), index)) {
        const status = await send(method, path + end);
        if (![401, 404, 400].includes(status)) found.push(`${method} ${path}${end} → ${status}`);
      }
    expect(found).toEqual([]);
    for (const token of ['token', 'access_token', 'authorization'])
      expect(await send('GET', `/user?${token}=${service.admin.token}`)).toBe(401);
  });

  it('reaches no handler with look-alike letters or endless paths (H8)', async () => {
    expect(await strays(unicode, [400, 404, 405])).toEqual([]);
    const latin1 = await rawRequest(
      port,
      Buffer.from('GET /us\xe9r HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 'latin1'),
    );
    expect([400, 404]).toContain(statusOf(latin1));
    expect(await send('GET', `/user/${'a'.repeat(60_000)}`, service.admin.token)).toBe(404);
    expect(await send('GET', `/user/${'a'.repeat(100_000)}`)).toBe(431);
    expect(await send('GET', '/health/live')).toBe(200);
  });
});

/** Returns every third item. Suffices, because router and guards are the same for all routes. */
function thirdOf<Item>(items: Item[], index: number): Item[] {
  return items.filter((_, position) => (position + index) % 3 === 0);
}

/** Runs eight requests at a time. */
async function inParallel<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = [...items];
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) await work(item);
    }),
  );
}
