import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CheckTokenService } from '../../../src/auth/check-token.service';
import { answerKnownTokens } from '../../../src/auth/known-tokens';
import { until } from '../../support/links';
import { RawConnection, requestHead } from '../../support/raw-connection';
import { type TestLogin, TestService } from '../../support/service';
import { decode, forge, ownKey } from '../../support/tokens';

const ending = '\r\n\r\n';

/** Over sockets: `inject` never meets the server's listener. */
describe('the fast path of check-token', () => {
  let service: TestService;
  let port: number;
  let user: TestLogin;
  beforeAll(async () => {
    service = await TestService.start({ REQUESTS_PER_ADDRESS_PER_MINUTE: '1000' });
    ({ port } = await service.listen());
    user = await service.loginAs();
  });
  afterAll(() => service.close());

  const request = (body: string, headers = '', target = '/auth/check-token', method = 'POST') =>
    `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}Content-Length: ${body.length}${ending}${body}`;
  const only = (token = user.token) => JSON.stringify({ token });

  /** The answers to pieces that are sent one after the other over one connection. */
  async function answersTo(
    pieces: string[],
    count = 1,
  ): Promise<{ status: number; headers: Record<string, string>; body: string }[]> {
    const connection = await RawConnection.open(port);
    for (const piece of pieces) {
      await connection.send(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const complete = () => {
      const heads = [...connection.received.matchAll(/content-length: (\d+)/gi)].map(([, length]) => Number(length));
      const bodies = connection.received.split(ending).length - 1;
      return (
        heads.length === count &&
        bodies === count &&
        connection.received.length >= heads.reduce((sum, length) => sum + length, 0)
      );
    };
    await until(() => Promise.resolve(complete()));
    connection.socket.destroy();
    return connection.received.split(/(?=HTTP\/1\.1 \d{3} )/).map((text) => {
      const [head = '', body = ''] = text.split(ending);
      const [status = '', ...lines] = head.split('\r\n');
      const headers = Object.fromEntries(
        lines.map((line) => [line.split(': ')[0]?.toLowerCase() ?? '', line.split(': ').slice(1).join(': ')]),
      );
      return { status: Number(status.split(' ')[1]), headers, body };
    });
  }
  const answerTo = async (...pieces: string[]) => (await answersTo(pieces))[0]!;

  it('returns the same body and headers as the regular path', async () => {
    const long = await answerTo(request(` ${only()}`));
    const short = await answerTo(request(only()));
    const comparable = ({ status, headers, body }: typeof long) => ({
      status,
      headers: Object.keys(headers).sort(),
      fixed: Object.entries(headers)
        .filter(([name]) => !/^(date|x-request-id|content-length)$/.test(name))
        .sort(),
      body: { ...JSON.parse(body), expires_in: 0 },
    });
    expect(comparable(short)).toEqual(comparable(long));
    expect(short.headers['cache-control']).toBe('no-store');
    expect((await answerTo(request(only(), 'X-Request-Id: mine-1\r\n'))).headers['x-request-id']).toBe('mine-1');
    expect((await answerTo(request(only(), 'X-Request-Id: a b\r\n'))).headers['x-request-id']).not.toBe('a b');
  });

  it('returns the same response for an empty object with the token in the header', async () => {
    const bearer = (body: string) => request(body, `Authorization: Bearer ${user.token}\r\n`);
    const answers = [await answerTo(bearer(' {}')), await answerTo(bearer('{}')), await answerTo(request(only()))];
    const [long, short, inBody] = answers.map(({ status, body }) => ({
      status,
      body: { ...JSON.parse(body), expires_in: 0 },
    }));
    expect([short, short]).toEqual([long, inBody]);
    expect(short).toMatchObject({ status: 200, body: { user: { user_id: user.user_id }, refreshed: false } });
  });

  it('renews a bearer token past half its life, and no token in the body', async () => {
    const { key, header } = ownKey(service);
    const claims = decode(user.token);
    const token = forge(
      header,
      { ...claims, exp: Number(claims['iat']) + service.config.ACCESS_TOKEN_TTL_SECONDS / 2 - 5 },
      key,
    );
    const bearer = request('{}', `Authorization: Bearer ${token}\r\n`);
    for (let round = 0; round < 3; round++) {
      expect(JSON.parse((await answerTo(request(only(token)))).body).refreshed).toBe(false);
      expect(JSON.parse((await answerTo(bearer)).body).refreshed).toBe(true);
    }
  });

  it('returns the right user for many requests over one connection (J18)', async () => {
    const others = await Promise.all(Array.from({ length: 5 }, () => service.loginAs()));
    for (const other of others) await answerTo(request(only(other.token)));
    const asked = Array.from({ length: 50 }, (_, index) => others[index % others.length]!);
    const answers = await answersTo([asked.map(({ token }) => request(only(token))).join('')], asked.length);
    expect(answers.map(({ body }) => JSON.parse(body).user.user_id)).toEqual(asked.map(({ user_id }) => user_id));
  });

  it('leaves split, unknown and extended requests to the regular path (H9)', async () => {
    const whole = request(only());
    for (const at of [10, whole.indexOf(ending) + 4, whole.length - 10]) {
      const { status, body } = await answerTo(whole.slice(0, at), whole.slice(at));
      expect([status, JSON.parse(body).user.user_id]).toEqual([200, user.user_id]);
    }
    const refused: [string, number][] = [
      [request(only('garbage')), 401],
      [request(only(`${user.token}x`)), 401],
      [request(only().replace('}', ',"x":1}')), 400],
      [request(only(), '', '/auth/check-token?x=1'), 400],
      [request(only(), '', '/auth/check-token', 'PUT'), 405],
      [request(only(), '', '/auth/check-token/'), 404],
      [request(only(), 'Host: other\r\n'), 400],
      [whole.replace('application/json', 'text/plain'), 415],
    ];
    for (const [bytes, status] of refused)
      expect([bytes.slice(0, 60), (await answerTo(bytes)).status]).toEqual([bytes.slice(0, 60), status]);
    // what was not known was left unread, and so was what follows it
    const answers = await answersTo([`${request(only('garbage'))}${whole}${request(only('garbage'))}${whole}`], 4);
    expect(answers.map(({ status }) => status)).toEqual([401, 200, 401, 200]);
  });

  it('rejects a token after logout, disabling and a change of password (S2, S7)', async () => {
    const ends: ((login: TestLogin) => Promise<unknown>)[] = [
      ({ token }) => service.post('/auth/logout', { token, body: {} }),
      ({ user_id }) => service.patch(`/user/${user_id}`, { token: service.admin.token, body: { status: 'disabled' } }),
      ({ user_id }) => service.delete(`/user/${user_id}`, { token: service.admin.token }),
    ];
    for (const end of ends) {
      const login = await service.loginAs();
      for (let round = 0; round < 3; round++) expect((await answerTo(request(only(login.token)))).status).toBe(200);
      await end(login);
      expect((await answerTo(request(only(login.token)))).status).toBe(401);
    }
  });
});

/**
 * A server whose parser lets through more than that of the service, and that knows every token:
 * what is looked at before decides alone.
 */
it('sends the headers of the regular path where other origins are allowed (H9)', async () => {
  const service = await TestService.start({ CORS_ORIGINS: 'https://portal.example.net' });
  try {
    const { url } = await service.listen();
    const { token } = await service.loginAs();
    const namesOf = async (body: string, headers = {}) => {
      const answer = await fetch(`${url}/auth/check-token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
      expect(answer.status).toBe(200);
      return [...answer.headers.keys()].sort();
    };
    const long = await namesOf(` ${JSON.stringify({ token })}`);
    expect(await namesOf(' {}', { authorization: `Bearer ${token}` })).toEqual(long);
    expect(await namesOf(JSON.stringify({ token }))).toEqual(long);
    expect(await namesOf('{}', { authorization: `Bearer ${token}` })).toEqual(long);
  } finally {
    await service.close();
  }
});

describe('the request that takes the fast path', () => {
  let server: Server;
  beforeAll(async () => {
    server = createServer({ insecureHTTPParser: true }, (request, response) =>
      request.resume().on('end', () => response.end('long')),
    );
    const tokens = {
      known: (_token: string, from: string) => Buffer.from(from === 'body' ? 'short' : 'from the header, short'),
    };
    answerKnownTokens(server, {
      path: '/',
      headers: {},
      requestId: () => '1',
      log: () => undefined,
      tokens: tokens as unknown as CheckTokenService,
    });
    await new Promise((listening) => server.listen(0, '127.0.0.1', () => listening(null)));
  });
  afterAll(() => new Promise((closed) => server.close(closed)));

  const body = JSON.stringify({ token: 'a.b.c' });
  const usual = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
  /** Which way the request takes. */
  const wayOf = async (bytes: string) => {
    const connection = await RawConnection.open((server.address() as AddressInfo).port);
    await connection.send(bytes);
    await until(() => Promise.resolve(/(long|short)$/.test(connection.received.replace(/\r\n0\r\n\r\n$/, ''))));
    connection.socket.destroy();
    return /long|short/.exec(connection.received)?.[0];
  };

  it('is the only one that takes it (H9)', async () => {
    expect(await wayOf(requestHead('POST', '/', usual) + body)).toBe('short');
  });

  it.each<[what: string, headers: Record<string, string | undefined>, sent?: string]>([
    ['in chunks', { 'Transfer-Encoding': 'chunked' }, `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`],
    ['with an expectation', { Expect: '100-continue' }],
    ['from a page', { Origin: 'https://portal.example.net' }],
    ['through a proxy', { 'X-Forwarded-For': '203.0.113.1' }],
    ['with another protocol in mind', { Upgrade: 'websocket', Connection: 'upgrade' }],
    ['for two hosts', { Host: 'other' }],
    ['with a charset', { 'Content-Type': 'application/json; charset=utf-8' }],
    ['of another type', { 'Content-Type': 'text/plain' }],
    ['of no type', { 'Content-Type': undefined }],
    ['with more than a token', {}, JSON.stringify({ token: 'a.b.c', x: 1 })],
    ['with a longer body than a token makes', {}, JSON.stringify({ token: 'x'.repeat(4_109) })],
  ])('leaves to the regular path a request %s (H9)', async (_what, headers, sent = body) => {
    const length = headers['Transfer-Encoding'] === undefined ? String(sent.length) : usual['Content-Length'];
    expect(await wayOf(requestHead('POST', '/', { ...usual, 'Content-Length': length, ...headers }) + sent)).toBe(
      'long',
    );
  });

  const bearerOnly = { ...usual, 'Content-Length': '2', Authorization: 'Bearer a.b.c' };

  it('accepts an empty object with the token in the header (H9)', async () => {
    expect(await wayOf(`${requestHead('POST', '/', bearerOnly)}{}`)).toBe('short');
  });

  it.each<[what: string, headers: Record<string, string | undefined>, sent?: string]>([
    ['without any', { Authorization: undefined }],
    ['with a token in the older header besides', { 'X-Auth-Token': 'a.b.c' }],
    ['with an empty older header besides', { 'X-Auth-Token': '' }],
    ['in another spelling', { Authorization: 'bearer a.b.c' }],
    ['with two spaces', { Authorization: 'Bearer  a.b.c' }],
    ['with something after it', { Authorization: 'Bearer a.b.c, Bearer d.e.f' }],
    ['of another scheme', { Authorization: 'Basic a.b.c' }],
    ['twice', { 'Content-Type': 'application/json\r\nauthorization: Bearer d.e.f' }],
    ['with a refresh token', {}, '{"refresh_token":"x"}'],
    ['with a list', {}, '[]'],
  ])('leaves to the regular path a bearer token %s (H9)', async (_what, headers, sent = '{}') => {
    expect(
      await wayOf(
        requestHead('POST', '/', { ...bearerOnly, 'Content-Length': String(sent.length), ...headers }) + sent,
      ),
    ).toBe('long');
  });

  it('accepts no body longer than that of the longest token (H9)', async () => {
    const sent = JSON.stringify({ token: 'x'.repeat(4_108) });
    expect(await wayOf(requestHead('POST', '/', { ...usual, 'Content-Length': String(sent.length) }) + sent)).toBe(
      'short',
    );
  });
});
