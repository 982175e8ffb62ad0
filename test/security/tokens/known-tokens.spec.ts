import { CheckTokenService } from '../../../src/auth/check-token.service';
import { until } from '../../support/until';
import { RawConnection, requestHead } from '../../support/raw-connection';
import { type TestLogin, TestService } from '../../support/service';
import { decode, forge, ownKey } from '../../support/tokens';

const ending = '\r\n\r\n';
const path = '/auth/check-token';

type Headers = Record<string, string | undefined>;

interface Response {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The bytes of a request. A header that is undefined is left out. */
function bytesOf(body: string, headers: Headers = {}, target = path, method = 'POST'): string {
  const usual = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
  return requestHead(method, target, { ...usual, ...headers }) + body;
}

const onlyToken = (token: string) => JSON.stringify({ token });
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
/** Sends a request to the handler without changing its meaning. */
const toHandler = { 'Content-Encoding': 'identity' };

/** Sends pieces one after the other over one connection, and returns all responses. */
async function exchange(port: number, pieces: string[], count = 1): Promise<Response[]> {
  const connection = await RawConnection.open(port);
  for (const piece of pieces) {
    await connection.send(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const isComplete = () => {
    const lengths = [...connection.received.matchAll(/content-length: (\d+)/gi)].map(([, length]) => Number(length));
    const bodies = connection.received.split(ending).slice(1).join('');
    return lengths.length === count && bodies.length >= lengths.reduce((sum, length) => sum + length, 0);
  };
  await until(() => Promise.resolve(isComplete()));
  connection.socket.destroy();
  return connection.received.split(/(?=HTTP\/1\.1 \d{3} )/).map((text) => {
    const [head = '', body = ''] = text.split(ending);
    const [status = '', ...lines] = head.split('\r\n');
    const headers = lines.map((line) => [line.split(': ')[0]?.toLowerCase(), line.split(': ').slice(1).join(': ')]);
    return { status: Number(status.split(' ')[1]), headers: Object.fromEntries(headers), body };
  });
}

/** Everything in a response that does not depend on the time. */
function comparable({ status, headers, body }: Response): unknown {
  const { date, 'x-request-id': requestId, ...fixed } = headers;
  expect([date, requestId]).toEqual([expect.any(String), expect.any(String)]);
  return { status, headers: fixed, body: body.replace(/"expires_in":\d{3}\b/, '"expires_in":0') };
}

describe('check-token with a known token', () => {
  let service: TestService;
  let port: number;
  let user: TestLogin;
  let handler: jest.SpyInstance;
  beforeAll(async () => {
    service = await TestService.start({
      REQUESTS_PER_ADDRESS_PER_MINUTE: '1000',
      CORS_ORIGINS: 'https://portal.example.net',
    });
    ({ port } = await service.listen());
    user = await service.loginAs();
    await send(bytesOf(onlyToken(user.token)));
    handler = jest.spyOn(service.app.get(CheckTokenService), 'check');
  });
  afterAll(() => service.close());
  beforeEach(() => handler.mockClear());

  const send = async (...pieces: string[]) => (await exchange(port, pieces))[0]!;

  it.each<[way: string, body: (token: string) => string, headers: (token: string) => Headers]>([
    ['in the body', onlyToken, () => ({})],
    ['in the body, from a page of another origin', onlyToken, () => ({ Origin: 'https://portal.example.net' })],
    ['in the body, beside a broken header', onlyToken, () => ({ Authorization: 'Basic x' })],
    ['in the body, with spaces', (token) => ` { "token" : "${token}" } `, () => ({})],
    ['as the bearer of an empty object', () => '{}', bearer],
    ['as the bearer of an empty body', () => '', (token) => ({ ...bearer(token), 'Content-Type': undefined })],
    ['in X-Auth-Token', () => '{}', (token) => ({ 'X-Auth-Token': token })],
  ])('gets the response of the handler without reaching the handler: %s', async (_way, body, headers) => {
    const [text, given] = [body(user.token), headers(user.token)];
    const fromHook = await send(bytesOf(text, given));
    expect(handler).not.toHaveBeenCalled();
    const same = text === '' ? '{}' : text;
    const fromHandler = await send(bytesOf(same, { ...given, 'Content-Type': 'application/json', ...toHandler }));
    expect(handler).toHaveBeenCalledTimes(1);
    expect(comparable(fromHook)).toEqual(comparable(fromHandler));
    expect(fromHook).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(JSON.parse(fromHook.body)).toMatchObject({ user: { user_id: user.user_id }, refreshed: false });
  });

  it('keeps a valid request id and replaces an invalid one', async () => {
    const idFor = async (id: string) => (await send(bytesOf(onlyToken(user.token), { 'X-Request-Id': id }))).headers;
    expect((await idFor('mine-1'))['x-request-id']).toBe('mine-1');
    expect((await idFor('a b'))['x-request-id']).not.toBe('a b');
  });

  it('replaces a bearer past half its lifetime, and only checks the same token in the body', async () => {
    const { key, header } = ownKey(service);
    const claims = decode(user.token);
    const exp = Number(claims['iat']) + service.config.ACCESS_TOKEN_TTL_SECONDS / 2 - 5;
    const token = forge(header, { ...claims, exp }, key);
    for (let round = 0; round < 3; round++) {
      expect(JSON.parse((await send(bytesOf(onlyToken(token)))).body).refreshed).toBe(false);
      expect(JSON.parse((await send(bytesOf('{}', bearer(token)))).body).refreshed).toBe(true);
    }
  });

  it('returns the user of each token when many requests share a connection (J18)', async () => {
    const others = await Promise.all(Array.from({ length: 5 }, () => service.loginAs()));
    for (const { token } of others) await send(bytesOf(onlyToken(token)));
    const asked = Array.from({ length: 50 }, (_, index) => others[index % others.length]!);
    const bytes = asked.map(({ token }) => bytesOf(onlyToken(token))).join('');
    const responses = await exchange(port, [bytes], asked.length);
    expect(responses.map(({ body }) => JSON.parse(body).user.user_id)).toEqual(asked.map(({ user_id }) => user_id));
  });

  it('reads a request that arrives in pieces or in chunks (H9)', async () => {
    const whole = bytesOf(onlyToken(user.token));
    for (const at of [10, whole.indexOf(ending) + 4, whole.length - 10])
      expect((await send(whole.slice(0, at), whole.slice(at))).status).toBe(200);
    const text = onlyToken(user.token);
    const chunked = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
    const head = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };
    expect((await send(bytesOf('', head) + chunked)).status).toBe(200);
  });

  const rejected: [what: string, bytes: (token: string) => string, status: number][] = [
    ['a token with one more character', (token) => bytesOf(onlyToken(`${token}x`)), 401],
    ['another field', (token) => bytesOf(JSON.stringify({ token, x: 1 })), 400],
    ['a refresh token', (token) => bytesOf(JSON.stringify({ token, refresh_token: 'x' })), 400],
    ['a token that is a number', () => bytesOf('{"token":1}', bearer('x')), 400],
    ['a list', (token) => bytesOf('[]', bearer(token)), 400],
    ['broken JSON', (token) => bytesOf('{', bearer(token)), 400],
    ['an encoding', (token) => bytesOf(onlyToken(token), { 'Content-Encoding': 'gzip' }), 415],
    ['a query', (token) => bytesOf(onlyToken(token), {}, `${path}?x=1`), 400],
    ['a query that is not UTF-8', (token) => bytesOf(onlyToken(token), {}, `${path}?%ff`), 400],
    ['an empty query', (token) => bytesOf(onlyToken(`${token}x`), {}, `${path}?`), 401],
    ['another method', (token) => bytesOf(onlyToken(token), {}, path, 'PUT'), 405],
    ['another path', (token) => bytesOf(onlyToken(token), {}, `${path}/`), 404],
    ['two hosts', (token) => bytesOf(onlyToken(token), { Host: 'other' }), 400],
    ['another expectation', (token) => bytesOf(onlyToken(token), { Expect: 'x' }), 400],
    ['another media type', (token) => bytesOf(onlyToken(token), { 'Content-Type': 'text/plain' }), 415],
    ['no media type', (token) => bytesOf(onlyToken(token), { 'Content-Type': undefined }), 415],
    [
      'a form',
      (token) => bytesOf('x=1', { ...bearer(token), 'Content-Type': 'application/x-www-form-urlencoded' }),
      415,
    ],
    ['two different tokens', (token) => bytesOf('{}', { ...bearer(token), 'X-Auth-Token': 'x' }), 401],
    ['an empty second header', (token) => bytesOf('{}', { ...bearer(token), 'X-Auth-Token': '' }), 401],
    ['two Authorization headers', (token) => bytesOf('{}', { ...bearer(token), authorization: 'Bearer x' }), 401],
    ['another scheme', (token) => bytesOf('{}', { Authorization: `Basic ${token}` }), 401],
    ['text after the token', (token) => bytesOf('{}', { Authorization: `Bearer ${token}, Bearer x` }), 401],
  ];
  it.each(rejected)('rejects a request with %s, although its token is known (H9)', async (_what, bytes, status) => {
    expect((await send(bytes(user.token))).status).toBe(status);
  });

  it('responds in order when known and unknown tokens share a connection (H9)', async () => {
    const [known, unknown] = [bytesOf(onlyToken(user.token)), bytesOf(onlyToken('garbage'))];
    const responses = await exchange(port, [`${unknown}${known}${unknown}${known}`], 4);
    expect(responses.map(({ status }) => status)).toEqual([401, 200, 401, 200]);
  });

  it('rejects the token after logout, and after its user was disabled or deleted (S2, S7)', async () => {
    const ends: ((login: TestLogin) => Promise<unknown>)[] = [
      ({ token }) => service.post('/auth/logout', { token, body: {} }),
      ({ user_id }) => service.patch(`/user/${user_id}`, { token: service.admin.token, body: { status: 'disabled' } }),
      ({ user_id }) => service.delete(`/user/${user_id}`, { token: service.admin.token }),
    ];
    for (const end of ends) {
      const login = await service.loginAs();
      for (let round = 0; round < 3; round++) expect((await send(bytesOf(onlyToken(login.token)))).status).toBe(200);
      await end(login);
      expect((await send(bytesOf(onlyToken(login.token)))).status).toBe(401);
    }
  });
});
