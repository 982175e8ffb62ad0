import { METHODS } from 'node:http';
import { gzipSync } from 'node:zlib';
import { document } from '../../support/document';
import { rawRequest, statusOf } from '../../support/raw-request';
import { TestService } from '../../support/service';

/** Node closes the connection of a CONNECT request, which has no path. */
const methods = METHODS.filter((method) => method !== 'CONNECT');

const interim = 'HTTP/1.1 100 Continue\r\n\r\n';

/** Returns the status, type, code and parameter of a rejection. */
function problemOf(answer: string): { status: number; type: string | undefined; code: unknown; parameter: unknown } {
  const final = answer.replace(interim, '');
  const [head = '', body = ''] = final.split('\r\n\r\n');
  const problem = (body.startsWith('{') ? JSON.parse(body) : {}) as {
    code?: string;
    errors?: { parameter?: string }[];
  };
  const type = /^content-type: (.+)$/im.exec(head)?.[1];
  return { status: statusOf(final), type, code: problem.code, parameter: problem.errors?.[0]?.parameter };
}

describe('requests with unusual methods and headers', () => {
  let service: TestService;
  let port: number;
  let token: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
    ({ port } = await service.listen());
  });
  afterAll(() => service.close());

  const ask = (
    method: string,
    path: string,
    headers: Record<string, string | undefined> = {},
    body = '',
    version = '1.1',
  ) => {
    const all = { host: 'x', authorization: `Bearer ${token}`, connection: 'close', ...headers };
    const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : `${name}: ${value}\r\n`));
    return rawRequest(port, `${method} ${path} HTTP/${version}\r\n${lines.join('')}\r\n${body}`);
  };
  /** Sends a check-token request for the hot path. A first request makes the token known. */
  const checkToken = async (headers: Record<string, string | undefined> = {}, version = '1.1') => {
    const body = JSON.stringify({ token });
    await service.post('/auth/check-token', { body: { token } });
    const own = { authorization: undefined, 'content-type': 'application/json', 'content-length': String(body.length) };
    return ask('POST', '/auth/check-token', { ...own, ...headers }, body, version);
  };

  it('responds to every method of Node with 405 and Allow on known paths, and with 404 elsewhere (H10)', async () => {
    const wrong: string[] = [];
    const unknown = new Set<string>();
    for (const method of methods) {
      for (const [path, operations] of Object.entries(document.paths)) {
        const own = Object.keys(operations).map((one) => one.toUpperCase());
        if (own.includes(method)) continue;
        const url = path.replace(/\{[^}]+\}/g, service.admin.user_id);
        const { statusCode, headers } = await service.app.inject({ method: method as 'GET', url });
        if (statusCode !== 405 || headers.allow !== own.sort().join(', '))
          wrong.push(`${method} ${path} ${statusCode} ${String(headers.allow)}`);
      }
      const { statusCode, headers } = await service.app.inject({ method: method as 'GET', url: '/no/such/path' });
      unknown.add(`${statusCode} ${String(headers['content-type'])}`);
    }
    expect(wrong).toEqual([]);
    expect([...unknown]).toEqual(['404 application/problem+json; charset=utf-8']);
  });

  it('responds to unusual methods over a socket with 405, with and without a body (H10)', async () => {
    const found = [];
    for (const method of methods.filter((one) => !['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'].includes(one)))
      for (const headers of [
        {},
        { 'content-length': '2' },
        { 'content-type': 'application/json', 'content-length': '2' },
      ])
        found.push({
          method,
          ...problemOf(await ask(method, '/user/list', headers, 'content-length' in headers ? '{}' : '')),
        });
    const expected = {
      status: 405,
      type: 'application/problem+json; charset=utf-8',
      code: 'request.method_not_allowed',
    };
    expect(found).toEqual(found.map(({ method }) => ({ method, ...expected, parameter: undefined })));
  });

  it.each<[string, (headers: Record<string, string | undefined>) => Promise<string>, number]>([
    ['any path', (headers) => ask('GET', '/user', headers), 200],
    ['an unknown path', (headers) => ask('GET', '/nowhere', headers), 404],
    ['a known token', (headers) => checkToken(headers), 200],
  ])('rejects a missing Host and an unknown Expect with a problem: %s (H15, H17)', async (_what, send, status) => {
    const problem = { status: 400, type: 'application/problem+json; charset=utf-8', code: 'request.invalid' };
    expect(problemOf(await send({ host: undefined }))).toEqual({ ...problem, parameter: 'Host' });
    for (const expect_ of ['200-ok', 'foo, 100-continue', '']) {
      expect(problemOf(await send({ expect: expect_ }))).toEqual({ ...problem, parameter: 'Expect' });
    }
    expect((await send({ expect: '100-continue' })).replace(interim, '')).toMatch(`HTTP/1.1 ${status} `);
    expect(statusOf(await send({}))).toBe(status);
  });

  it('serves HTTP/1.0 without a Host (H15)', async () => {
    expect(statusOf(await ask('GET', '/user', { host: undefined }, '', '1.0'))).toBe(200);
    expect(statusOf(await checkToken({ host: undefined }, '1.0'))).toBe(200);
  });

  it('rejects a body with a Content-Encoding after the guard, on the hot path and on uploads too (H16)', async () => {
    const user = JSON.stringify({
      user_type: 'carrier',
      carrier_id: 'c1',
      name: 'encoded',
      email: 'encoded@example.com',
    });
    const csv = 'user_type,name,email,carrier_id\ncarrier,encoded,encoded@example.com,c1\n';
    const problem = {
      status: 415,
      type: 'application/problem+json; charset=utf-8',
      code: 'request.unsupported_media_type',
    };
    for (const encoding of ['gzip', 'deflate', 'br', 'identity, gzip', 'x', '']) {
      for (const [path, type, text] of [
        ['/user/create', 'application/json', user],
        ['/user/import', 'text/csv', csv],
      ] as const)
        for (const body of [text, gzipSync(text).toString('latin1')]) {
          const headers = { 'content-type': type, 'content-encoding': encoding, 'content-length': String(body.length) };
          const answer = await ask('POST', path, headers, body);
          expect({ path, encoding, ...problemOf(answer) }).toEqual({
            path,
            encoding,
            ...problem,
            parameter: undefined,
          });
          expect(answer).toMatch(/^accept-encoding: identity\r$/im);
          expect(statusOf(await ask('POST', path, { ...headers, authorization: undefined }, body))).toBe(401);
        }
      expect({ encoding, ...problemOf(await checkToken({ 'content-encoding': encoding })) }).toMatchObject({
        encoding,
        ...problem,
      });
    }
    expect(await service.rows(`select 1 from users where name = 'encoded'`)).toEqual([]);
    expect(statusOf(await checkToken({ 'content-encoding': 'Identity' }))).toBe(200);
    const headers = {
      'content-type': 'application/json',
      'content-encoding': 'identity',
      'content-length': String(user.length),
    };
    expect(statusOf(await ask('POST', '/user/create', headers, user))).toBe(201);
    // Without a body, `Content-Encoding` is ignored.
    expect(statusOf(await ask('GET', '/user', { 'content-encoding': 'gzip' }))).toBe(200);
  });
});
