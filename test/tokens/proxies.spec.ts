import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, METHODS, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ActivityNotes } from '../../src/auth/tokens/activity-notes.service';
import { createKey, type TestKey } from '../support/data/keys';
import { documentedProxy, installedProxies, Proxy } from '../support/network/proxies';
import { rawRequest, statusOf } from '../support/network/raw-request';
import { password, type TestAnswer, type TestLogin, type TestRequest, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { changeSession, sessionRow } from '../support/data/session-rows';
import { TcpProxy } from '../support/network/tcp-proxy';
import { forge, ownKey } from '../support/logins/tokens';
import { until } from '../support/until';

const requestsPerMinute = 40;
const identityHeaders = [
  ...['x-auth-user-id', 'x-auth-user-type', 'x-auth-carrier-id', 'x-auth-permissions', 'x-auth-client-id'],
];
const served = 'served by the module';
const origin = 'https://portal.example.net';

let service: TestService;
let clerk: TestLogin;
let root: TestLogin;
let key: TestKey;
let addresses = 0;
const newAddress = () => `198.51.100.${++addresses}`;

beforeAll(async () => {
  service = await TestService.start({
    TOKEN_AUDIENCES: 'billing',
    CORS_ORIGINS: origin,
    REQUESTS_PER_ADDRESS_PER_MINUTE: String(requestsPerMinute),
  });
  await service.rows(
    `insert into roles (name, user_types, permissions) values ('clerk', '{carrier}', '{billing:read,billing:write}')`,
  );
  clerk = await service.loginAs({ roles: ['clerk'] });
  root = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
  key = await createKey(service, ['billing:read']);
});
afterAll(() => service.close());

const identityIn = (headers: IncomingHttpHeaders) => identityHeaders.map((name) => headers[name]);
const ofClerk = (permissions: string) => [clerk.user_id, 'carrier', 'c1', permissions, ''];

describe('the check of a token for a proxy', () => {
  const verify = (query: string, request: TestRequest) =>
    service.get(`/auth/verify${query}`, { ip: newAddress(), ...request });
  const outcome = ({ status, headers, body }: TestAnswer) =>
    status === 204 ? identityIn(headers) : [status, body.code];
  const missing = (answer: TestAnswer) => [answer.status, answer.body.errors?.[0]?.params.permission];

  it('names users and API keys in headers, and sends headers without a value as empty', async () => {
    const { status, headers, text } = await verify('', clerk);
    expect([status, text, headers['cache-control']]).toEqual([204, '', 'no-store']);
    expect(identityIn(headers)).toEqual(ofClerk(''));
    expect(outcome(await verify('', { headers: { 'x-auth-token': clerk.token } }))).toEqual(ofClerk(''));
    expect(outcome(await verify('', root))).toEqual([root.user_id, 'system', '', '', '']);
    expect(outcome(await verify('?permission=billing:read', { token: key.key }))).toEqual([
      ...['', '', '', 'billing:read', key.key_id],
    ]);
  });

  it('requires any of the permissions, or each with `all`, and returns the ones that the caller holds', async () => {
    const asked = '?permission=billing:void&permission=billing:read';
    expect(outcome(await verify(asked, clerk))).toEqual(ofClerk('billing:read'));
    expect(missing(await verify(`${asked}&all=true`, clerk))).toEqual([403, 'billing:void']);
    expect(outcome(await verify('?all=true&permission=billing:read&permission=billing:write', clerk))).toEqual(
      ofClerk('billing:read billing:write'),
    );
    expect(missing(await verify('?permission=billing:void&all=false', clerk))).toEqual([403, 'billing:void']);
    expect(missing(await verify('?permission=*', clerk))).toEqual([403, '*']);
    expect(outcome(await verify(`${asked}&all=true`, root))[3]).toBe('billing:void billing:read');
    expect(missing(await verify('?permission=billing:write', { token: key.key }))).toEqual([403, 'billing:write']);
  });

  it('returns the permissions of a limited token, and rejects a token for another `audience` (J30)', async () => {
    const login = async (fields: object) => {
      const { name } = await service.createUser({ roles: ['clerk'] });
      return (await service.post('/auth/login', { body: { login: name, password, ...fields } })).body.access_token;
    };
    const token: string = await login({ audience: ['billing'], permissions: ['billing:read'] });
    for (const query of ['?permission=billing:read', '?permission=billing:read&audience=billing'])
      expect((await verify(query, { token })).headers['x-auth-permissions']).toBe('billing:read');
    expect(missing(await verify('?permission=billing:write', { token }))).toEqual([403, 'billing:write']);
    for (const other of ['carrier-platform', 'bill'])
      expect(outcome(await verify(`?audience=${other}`, { token }))).toEqual([401, 'auth.token_invalid']);
    expect(outcome(await verify('?audience=billing', clerk))).toEqual([401, 'auth.token_invalid']);
    for (const request of [clerk, { token: key.key }])
      expect((await verify('?audience=carrier-platform', request)).status).toBe(204);
  });

  it('rejects tokens that are not live, and users who must change their password or enrol a factor (J34)', async () => {
    const by = { token: service.admin.token };
    const [ended, disabled, changed] = [await service.loginAs(), await service.loginAs(), await service.loginAs()];
    const enroll = { second_factor_required_from: '2020-01-01T00:00:00Z' };
    const [restricted, enrolling] = [
      await service.loginAs({ must_change_password: true }),
      await service.loginAs(enroll),
    ];
    const revoked = await createKey(service, ['billing:read']);
    for (const login of [ended, disabled, changed]) expect((await verify('', login)).status).toBe(204);
    expect((await verify('', { token: revoked.key })).status).toBe(204);
    await service.delete(`/auth/session/${ended.session_id}`, by);
    await service.patch(`/user/${disabled.user_id}`, { ...by, body: { status: 'disabled' } });
    await service.patch(`/user/${changed.user_id}`, { ...by, body: { must_change_password: true } });
    await service.delete(`/auth/key/${revoked.key_id}`, by);
    const { key: signing, header } = await ownKey(service);
    const invalid = [401, 'auth.token_invalid'];
    for (const [request, expected] of [
      [{}, [401, 'auth.token_missing']],
      [{ token: 'garbage' }, invalid],
      [ended, invalid],
      [disabled, invalid],
      [{ token: clerk.refresh_token }, invalid],
      [{ token: forge(header, { sub: clerk.user_id, sid: clerk.session_id, iat: 1, exp: 2 }, signing) }, invalid],
      [{ ...clerk, headers: { 'x-auth-token': root.token } }, invalid],
      [{ token: revoked.key }, [401, 'auth.key_invalid']],
      [{ headers: { authorization: `Basic ${btoa(`${key.key_id}:${key.key}`)}` } }, [401, 'auth.token_missing']],
      [changed, [403, 'auth.password_change_required']],
      [restricted, [403, 'auth.password_change_required']],
      [enrolling, [403, 'auth.second_factor_enrollment_required']],
    ] satisfies [TestRequest, unknown[]][]) {
      const answer = await verify('', request);
      expect(outcome(answer)).toEqual(expected);
      expect(identityIn(answer.headers)).toEqual(identityHeaders.map(() => undefined));
    }
  });

  it('accepts any method without a body, and rejects all without a token, even a preflight (J34)', async () => {
    const send = (method: string, headers: Record<string, string>) =>
      service.inject({ method, url: '/auth/verify?permission=billing:read', headers, remoteAddress: newAddress() });
    const preflight = { origin, 'access-control-request-method': 'GET' };
    for (const method of METHODS.filter((one) => one !== 'CONNECT')) {
      const { statusCode, headers } = await send(method, { ...preflight, authorization: `Bearer ${clerk.token}` });
      expect([method, statusCode, identityIn(headers)]).toEqual([method, 204, ofClerk('billing:read')]);
      expect([method, (await send(method, preflight)).statusCode]).toEqual([method, 401]);
    }
  });

  it('puts no text of the query into a header (J33)', async () => {
    const parameters = (count: number) =>
      Array.from({ length: count }, (_, index) => `permission=p:${index}`).join('&');
    for (const query of [
      ...['permission=a:b%0D%0AX-Auth-Client-Id:%20x', 'permission=*%20user:read', 'permission=A:b', 'permission=a'],
      ...['permission=', 'permission=a:b&permission=', 'permission=a:*', 'permission=%C3%A9:b', parameters(21)],
      ...['all=yes', 'all=true&all=true', 'audience=', 'audience=a&audience=b', 'user_id=1'],
    ]) {
      const answer = await verify(`?${query}`, root);
      expect([query, ...outcome(answer)]).toEqual([query, 400, 'request.invalid']);
      expect(answer.headers).not.toHaveProperty('x-auth-client-id');
    }
    expect((await verify(`?${parameters(20)}`, root)).headers['x-auth-permissions']).toMatch(/^p:0 .* p:19$/);
  });

  it('counts as activity of the session', async () => {
    const login = await service.loginAs();
    await changeSession(service, login, `last_seen_at = last_seen_at - interval '5 minutes'`);
    await service.rows(`select pg_notify('user_changed', $1)`, [login.user_id]);
    expect((await verify('', login)).status).toBe(204);
    await service.inside<ActivityNotes>('ActivityNotes').onModuleDestroy();
    const row = await sessionRow(service, login, `last_seen_at > now() - interval '1 minute' as recent`);
    expect(row).toEqual({ recent: true });
  });

  it('limits rejected tokens per address, and never valid tokens (H30)', async () => {
    const ip = newAddress();
    const statuses = async (request: TestRequest) => (await verify('', { ...request, ip })).status;
    for (let index = 0; index < requestsPerMinute; index++) expect(await statuses({ token: 'garbage' })).toBe(401);
    expect(await statuses({ token: 'garbage' })).toBe(429);
    for (const request of [clerk, { token: key.key }]) expect(await statuses(request)).toBe(204);
  });
});

describe('the configurations in docs/proxies.md', () => {
  it.each(['nginx', 'caddyfile', 'yaml'])('delete or replace every header in %s (J31)', (language) => {
    const config = documentedProxy(language).toLowerCase().replaceAll('_', '-');
    for (const header of identityHeaders) expect([header, config.split(header).length]).toEqual([header, 3]);
  });

  // CI sets the variable. Elsewhere, the tests below run with the proxies that are installed.
  it('run with every proxy that REQUIRED_PROXIES names', () => {
    const required = (process.env['REQUIRED_PROXIES'] ?? '').split(',').filter((name) => name !== '');
    expect(installedProxies).toEqual(expect.arrayContaining(required));
  });
});

describe.each(installedProxies)('a module behind %s', (name) => {
  let database: TcpProxy;
  let instance: ServiceProcess;
  let module_: Server;
  let proxy: Proxy;
  /** headers and bodies of the requests that reached the module */
  const reached: { headers: IncomingHttpHeaders; names: string[]; body: string }[] = [];
  beforeAll(async () => {
    database = await TcpProxy.start(service.config.DATABASE_URL);
    const urls = { DATABASE_URL: database.url, DATABASE_DIRECT_URL: database.url };
    instance = await ServiceProcess.beside(service, { ...urls, LIVE_LOGIN_LEASE_SECONDS: '2' });
    module_ = createServer((request, response) => {
      void request.toArray().then((chunks) => {
        const names = request.rawHeaders.filter((_name, index) => index % 2 === 0);
        reached.push({ headers: request.headers, names, body: Buffer.concat(chunks).toString() });
        response.setHeader('content-length', served.length).end(served);
      });
    }).listen(0, '127.0.0.1');
    await once(module_, 'listening');
    proxy = await Proxy.start(name, { identity: instance.port, module: (module_.address() as AddressInfo).port });
  });
  afterAll(async () => {
    await proxy.stop();
    module_.close();
    await database.restore();
    await instance.stop();
    await database.cut();
  });
  beforeEach(() => reached.splice(0));

  /** Sends a request with one header per line, and returns its status. */
  const send = async (...lines: string[]) => {
    const [first = 'GET / HTTP/1.1', ...headers] =
      lines.at(0)?.includes('HTTP/') === true ? lines : ['GET / HTTP/1.1', ...lines];
    const body = 'hello';
    const length = first.startsWith('GET') ? [] : [`Content-Length: ${body.length}`];
    const head = [first, 'Host: billing.example.net', ...headers, ...length].join('\r\n');
    return rawRequest(proxy.port, `${head}\r\n\r\n${length.length > 0 ? body : ''}`);
  };
  const bearer = (token: string) => `Authorization: Bearer ${token}`;
  /** Returns the identity that the module reads. An absent header is the same as an empty one. */
  const seen = () => reached.map(({ headers }) => identityIn(headers).map((value) => value ?? ''));

  it('reaches it with the headers of users and API keys, for any method', async () => {
    for (const [line, expected] of [
      [bearer(clerk.token), ofClerk('billing:read')],
      [`X-Auth-Token: ${clerk.token}`, ofClerk('billing:read')],
      [bearer(root.token), [root.user_id, 'system', '', 'billing:read', '']],
      [bearer(key.key), ['', '', '', 'billing:read', key.key_id]],
    ] as const) {
      expect(await send(line)).toContain(served);
      expect(seen()).toEqual([expected]);
      reached.splice(0);
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
      expect(statusOf(await send(`${method} /invoice?permission=user:read HTTP/1.1`, bearer(clerk.token)))).toBe(200);
    expect(seen()).toEqual(Array(4).fill(ofClerk('billing:read')));
    expect(reached.map(({ body }) => body)).toEqual(Array(4).fill('hello'));
  });

  it('is not reached without a live token or the permission, nor by a preflight request (J34)', async () => {
    const ended = await service.loginAs({ roles: ['clerk'] });
    expect(statusOf(await send(bearer(ended.token)))).toBe(200);
    reached.splice(0);
    await instance.delete(`/auth/session/${ended.session_id}`, ended);
    const [without, reader] = [await service.loginAs(), await createKey(service, ['user:read'])];
    const preflight = ['OPTIONS / HTTP/1.1', `Origin: ${origin}`, 'Access-Control-Request-Method: GET'];
    for (const [status, ...lines] of [
      [401],
      [401, bearer('garbage')],
      [401, bearer(ended.token)],
      [401, bearer(clerk.token), `X-Auth-Token: ${root.token}`],
      [401, ...preflight],
      [403, bearer(without.token)],
      [403, bearer(reader.key)],
      [403, 'GET /?permission=user:read&all=false HTTP/1.1', bearer(reader.key)],
    ] as [number, ...string[]][])
      expect([lines, statusOf(await send(...lines))]).toEqual([lines, status]);
    expect(await send()).toMatch(/^WWW-Authenticate: Bearer/im);
    expect(reached).toEqual([]);
  });

  it('never sees identity headers of the client (J31)', async () => {
    const forged = identityHeaders.map((header) => `${header}: forged`);
    expect(statusOf(await send(...forged))).toBe(401);
    for (const token of [clerk.token, key.key]) await send(bearer(token), ...forged);
    for (const token of [clerk.token, key.key]) await send(...forged, ...forged, bearer(token));
    expect(seen()).toEqual(
      Array(2)
        .fill([ofClerk('billing:read'), ['', '', '', 'billing:read', key.key_id]])
        .flat(),
    );
  });

  it('never sees identity headers in another spelling (J32)', async () => {
    const spellings = ['X_Auth_Client_Id', 'X-Auth_Client-Id', 'x-auth-client_id', 'X_AUTH-USER_ID'];
    await send(bearer(clerk.token), ...spellings.map((spelling) => `${spelling}: forged`));
    expect(seen()).toEqual([ofClerk('billing:read')]);
    expect(reached[0]?.names.filter((header) => header.includes('_'))).toEqual([]);
  });

  it('gets the identity headers even if the client names them in Connection (J32)', async () => {
    await send(bearer(clerk.token), `Connection: keep-alive, ${identityHeaders.join(', ')}`);
    for (const header of identityHeaders) await send(bearer(clerk.token), `Connection: ${header.toUpperCase()}, close`);
    await send(bearer(clerk.token), ...identityHeaders.map((header) => `Connection: ${header}`));
    expect(seen()).toEqual(Array(identityHeaders.length + 2).fill(ofClerk('billing:read')));
  });

  it('is not reached while the service cannot check tokens: 503, never 401', async () => {
    await database.cut();
    await until(async () => statusOf(await send(bearer(clerk.token))) !== 200);
    const answer = await send(bearer(clerk.token));
    expect([statusOf(answer), /^Retry-After: \d+/im.test(answer)]).toEqual([503, true]);
    reached.splice(0);
    expect(statusOf(await send(bearer(key.key)))).toBe(503);
    expect(reached).toEqual([]);
    await database.restore();
    await until(async () => statusOf(await send(bearer(clerk.token))) === 200);
  });
});
