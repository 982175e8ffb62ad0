import { rawRequest } from '../../support/raw-request';
import { requestHead } from '../../support/raw-connection';
import { type TestLogin, TestService } from '../../support/service';

const allowed = ['https://good.test', 'https://portal.example.net:8443'];
/** Origins that a loose comparison would allow. */
const refused = [
  'https://good.test.evil',
  'https://evil.good.test',
  'https://notgood.test',
  'https://good.testing',
  'http://good.test',
  'https://good.test:8443',
  'https://good.test:443',
  'https://portal.example.net',
  'https://good.test/',
  'https://GOOD.TEST',
  'https://good.test,https://evil.test',
  'https://good.test@evil.test',
  'https://good.test\\.evil.test',
  'https://goodxtest',
  'null',
  'file://',
  'https://evil.test',
  '*',
];

interface Exchange {
  status: number;
  /** header lines, names in lower case */
  headers: Record<string, string>;
}

describe('requests of web pages', () => {
  let service: TestService;
  let login: TestLogin;
  let port: number;

  beforeAll(async () => {
    service = await TestService.start({ CORS_ORIGINS: allowed.join(','), REQUESTS_PER_ADDRESS_PER_MINUTE: '0' });
    login = await service.loginAs({ roles: ['carrier_user'] });
    ({ port } = await service.listen());
  });
  afterAll(() => service.close());

  /** Sends a request over a socket, which also reaches the path before the framework. */
  async function exchange(method: string, path: string, headers: Record<string, string>, body = ''): Promise<Exchange> {
    const length = body === '' ? {} : { 'content-length': String(body.length), 'content-type': 'application/json' };
    const answer = await rawRequest(
      port,
      requestHead(method, path, { connection: 'close', ...length, ...headers }) + body,
    );
    const [status = '', ...lines] = (answer.split('\r\n\r\n', 1)[0] ?? '').split('\r\n');
    const pairs = lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]);
    return { status: Number(status.split(' ')[1]), headers: Object.fromEntries(pairs) };
  }

  const bearer = () => ({ authorization: `Bearer ${login.token}` });

  /** One request for each part of the service that creates responses. */
  const kinds = (): [title: string, status: number, send: (origin: Record<string, string>) => Promise<Exchange>][] => [
    ['a handler', 200, (origin) => exchange('GET', '/user', { ...bearer(), ...origin })],
    ['a public handler', 200, (origin) => exchange('GET', '/health/live', origin)],
    ['the guard, without a token', 401, (origin) => exchange('GET', '/user', origin)],
    ['the guard, without the permission', 403, (origin) => exchange('GET', '/audit/list', { ...bearer(), ...origin })],
    ['validation', 400, (origin) => exchange('POST', '/auth/login', origin, '{"nothing":1}')],
    ['the body parser', 400, (origin) => exchange('POST', '/auth/login', origin, '{')],
    ['the router', 404, (origin) => exchange('GET', '/nowhere', origin)],
    ['a wrong method', 405, (origin) => exchange('DELETE', '/user', origin)],
    ['check-token, refused', 401, (origin) => exchange('POST', '/auth/check-token', origin, '{"token":"a.b.c"}')],
    [
      'check-token',
      200,
      (origin) => exchange('POST', '/auth/check-token', origin, JSON.stringify({ token: login.token })),
    ],
  ];

  const corsHeaders = ({ headers }: Exchange) =>
    Object.keys(headers).filter((name) => name.startsWith('access-control-allow'));

  it('lets allowed origins read every kind of response, and other origins none (H19)', async () => {
    for (const [title, status, send] of kinds()) {
      for (const origin of allowed) {
        const { status: given, headers } = await send({ origin });
        expect([title, given, headers['access-control-allow-origin']]).toEqual([title, status, origin]);
        expect([title, headers['access-control-allow-credentials']]).toEqual([title, undefined]);
      }
      for (const origin of refused) {
        const answer = await send({ origin });
        expect([title, origin, answer.status, corsHeaders(answer)]).toEqual([title, origin, status, []]);
      }
    }
  });

  it('sends Vary: Origin with every kind of response, with and without an Origin (H19)', async () => {
    for (const [title, status, send] of kinds())
      for (const origin of [{}, { origin: allowed[0] as string }, { origin: 'https://evil.test' }]) {
        const answer = await send(origin as Record<string, string>);
        expect([title, origin, answer.status, answer.headers['vary']]).toEqual([title, origin, status, 'Origin']);
      }
  });

  it('sends the same headers for check-token from memory as through the framework (H19)', async () => {
    const body = JSON.stringify({ token: login.token });
    await exchange('POST', '/auth/check-token', {}, body);
    const fromMemory = await exchange('POST', '/auth/check-token', {}, body);
    // This header forces the way through the framework.
    const through = await exchange('POST', '/auth/check-token', { 'x-forwarded-for': '192.0.2.1' }, body);
    const names = ({ headers }: Exchange) => Object.keys(headers).sort();
    expect(names(fromMemory)).toEqual(names(through));
    expect(corsHeaders(fromMemory)).toEqual([]);
  });

  it('allows the methods for ten minutes in a preflight of an allowed origin, without credentials (H19)', async () => {
    for (const origin of allowed)
      for (const path of ['/user', '/user/all', '/auth/check-token', '/auth/login', `/user/${login.user_id}`]) {
        const wanted = {
          'access-control-request-method': 'PATCH',
          'access-control-request-headers': 'authorization,content-type',
        };
        const { status, headers } = await exchange('OPTIONS', path, { origin, ...wanted });
        expect([path, status]).toEqual([path, 204]);
        expect(headers).toMatchObject({
          'access-control-allow-origin': origin,
          'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
          'access-control-max-age': '600',
          vary: expect.stringContaining('Origin'),
        });
        expect(headers['access-control-allow-credentials']).toBeUndefined();
      }
  });

  it('allows nothing in a preflight of any other origin (H19)', async () => {
    for (const origin of refused) {
      const answer = await exchange('OPTIONS', '/user', { origin, 'access-control-request-method': 'PATCH' });
      expect([origin, answer.headers['access-control-allow-origin']]).toEqual([origin, undefined]);
      expect(answer.headers['vary']).toContain('Origin');
    }
  });
});
