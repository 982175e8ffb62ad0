import { createKey, type TestKey } from '../support/data/keys';
import { Authenticator } from '../support/logins/second-factors';
import { password, type TestAnswer, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { decode, visiblePart } from '../support/logins/tokens';

const perMinute = 5;
const portal = '192.0.2.80';
const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0';
const wrong = `${password}!`;
const limits = {
  LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: String(perMinute),
  REQUESTS_PER_ADDRESS_PER_MINUTE: String(perMinute),
};

let count = 0;
/** Every address of a test is new, and so is its /24. */
const newAddress = () => `198.${++count % 250}.${Math.floor(count / 250)}.7`;
const statusesOf = async (times: number, send: (index: number) => Promise<TestAnswer>) => {
  const statuses: number[] = [];
  for (let index = 0; index < times; index++) statuses.push((await send(index)).status);
  return statuses;
};
const times = (status: number, number = perMinute): number[] => Array<number>(number).fill(status);

describe('the limits per address', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start(limits);
  });
  afterAll(() => service.close());

  const attempt = (ip: string, headers: Record<string, string> = {}, at: ServiceProcess = service) =>
    at.post('/auth/login', { body: { login: `account-${++count}`, password: wrong }, ip, headers });

  it('verifies a limited number of passwords when one password is tried on many accounts (L8)', async () => {
    const ip = newAddress();
    expect(await statusesOf(perMinute + 2, () => attempt(ip))).toEqual([...times(401), 429, 429]);
    const { body, headers } = await attempt(ip);
    expect(body).toMatchObject({ code: 'auth.too_many_attempts' });
    expect(headers).toMatchObject({ 'ratelimit-policy': `"login";q=${perMinute};w=60` });
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    const counters = await service.rows('select 1 from login_attempts where failures > 0');
    expect(counters).toHaveLength(perMinute);
    expect((await attempt(newAddress())).status).toBe(401);
  });

  it('shares the limit with other ways to try a password, and per IPv6 /64 (L8, L17)', async () => {
    const ip = newAddress();
    const ways = [
      () => attempt(ip),
      () => service.post('/auth/reset_email', { body: { email: `unknown-${++count}@example.com` }, ip }),
      () => service.post(`/auth/reset/${'x'.repeat(42)}y`, { body: { password: 'a new and long password' }, ip }),
    ];
    const way = (index: number) => (ways[index % ways.length] as (typeof ways)[number])();
    expect(await statusesOf(perMinute, way)).not.toContain(429);
    expect(await statusesOf(ways.length, way)).toEqual(times(429, ways.length));
    const hosts = await statusesOf(perMinute + 2, (index) => attempt(`2001:db8:0:8::${index + 1}`));
    expect(hosts).toEqual([...times(401), 429, 429]);
    expect((await attempt('2001:db8:0:9::1')).status).toBe(401);
  });

  it('limits the address that the proxy saw, regardless of other headers (L9)', async () => {
    const ip = newAddress();
    const names = ['x-real-ip', 'forwarded', 'cf-connecting-ip', 'true-client-ip', 'x-client-ip', 'x-forwarded-host'];
    const statuses = await statusesOf(perMinute + 2, (index) =>
      attempt(ip, Object.fromEntries(names.map((name) => [name, `203.0.113.${index}`]))),
    );
    expect(statuses).toEqual([...times(401), 429, 429]);
  });

  it('limits the address that a trusted proxy saw, and ignores claims of clients and other peers (L9)', async () => {
    const ip = newAddress();
    const claimed = (index: number) => attempt(`203.0.113.${index}, ${ip}`);
    expect(await statusesOf(perMinute + 2, claimed)).toEqual([...times(401), 429, 429]);
    const untrusting = await ServiceProcess.beside(service, { ...limits, TRUST_PROXY: '10.0.0.0/8' });
    const statuses = await statusesOf(perMinute + 2, (index) => attempt(`198.51.100.${index}`, {}, untrusting));
    expect(statuses).toEqual([...times(401), 429, 429]);
    await untrusting.stop();
  });

  describe('of logins through a portal', () => {
    let key: TestKey;
    /** without the permission */
    let weak: TestKey;
    beforeAll(async () => {
      weak = await createKey(service, ['user:read']);
      key = await createKey(service, ['login:forward'], { carrier_scope: ['c1'] });
    });

    const headersOf = (address?: string, given = key.key): Record<string, string> => ({
      'x-api-key': given,
      'user-agent': agent,
      ...(address === undefined ? {} : { 'x-user-address': address }),
    });
    const login = (name: string, address?: string, secret = password, ip = portal): Promise<TestAnswer> =>
      service.post('/auth/login', { body: { login: name, password: secret }, ip, headers: headersOf(address) });
    const sessionOf = async (token: string) =>
      (await service.post('/auth/check-token', { body: { token } })).body.session;
    /** The routes that a portal forwards. */
    const routes: [string, string, object | undefined][] = [
      ['POST', '/auth/login', { login: 'nobody', password }],
      ['POST', '/auth/second-factor', { challenge: 'x'.repeat(43), code: '000000' }],
      ['POST', '/auth/second-factor/passkey-options', { challenge: 'x'.repeat(43) }],
      ['POST', '/auth/passkey/options', undefined],
      ['POST', '/auth/passkey/login', { challenge: 'x'.repeat(43), passkey: {} }],
      ['POST', '/auth/reset_email', { email: 'nobody@example.com' }],
      ['GET', `/auth/reset/${'x'.repeat(43)}`, undefined],
      ['POST', `/auth/reset/${'x'.repeat(43)}`, { password: 'a new and long password' }],
      ['POST', '/auth/check-token', { token: 'none' }],
    ];

    it('counts logins for the addresses of the users, and records these addresses in sessions (L30)', async () => {
      for (let number = 0; number < perMinute + 1; number++) {
        const { name } = await service.createUser();
        const address = newAddress();
        const { status, body } = await login(name, address);
        expect([status, decode(body.access_token)['client_id']]).toEqual([200, key.key_id]);
        expect(await sessionOf(body.access_token)).toMatchObject({ ip: address, user_agent: agent });
      }
      const address = newAddress();
      expect(await statusesOf(perMinute + 1, (index) => login(`missing-${index}`, address))).toEqual([
        ...times(401),
        429,
      ]);
      expect((await login((await service.createUser()).name, newAddress())).status).toBe(200);
      // The address stays free for other users, who may be outside the scope.
      const { name } = await service.createUser({ carrier_id: 'c2' });
      expect((await service.post('/auth/login', { body: { login: name, password }, ip: address })).status).toBe(200);
    });

    it('keeps the client id of the portal through refreshes and a reauthentication (L30)', async () => {
      const { name } = await service.createUser();
      const { body } = await login(name, newAddress());
      const ip = newAddress();
      const refreshed = await service.post('/auth/check-token', { body: { refresh_token: body.refresh_token }, ip });
      const token = refreshed.body.access_token;
      const fresh = await service.post('/auth/reauthenticate', { token, body: { password }, ip });
      for (const given of [token, fresh.body.access_token])
        expect(decode(given)).toMatchObject({ client_id: key.key_id, aud: 'carrier-platform', roles: [] });
    });

    it('rejects a revoked or altered key, and a header that is not exactly one address (L30)', async () => {
      const revoked = await createKey(service, ['login:forward']);
      await service.delete(`/auth/key/${revoked.key_id}`, service.admin);
      const body = { login: 'nobody', password };
      const send = (headers: object) =>
        service.post('/auth/login', { body, headers: { ...headers }, ip: newAddress() });
      for (const given of [`${key.key.slice(0, -1)}x`, '', revoked.key])
        expect((await send(headersOf(newAddress(), given))).body).toMatchObject({ code: 'auth.key_invalid' });
      const several = ['192.0.2.1, 192.0.2.2', '192.0.2.1:443', '[2001:db8::1]', '10.0.0.0/8'];
      for (const address of ['', 'localhost', '192.0.2.256', ...several])
        expect((await send(headersOf(address))).body).toMatchObject({
          code: 'request.invalid',
          errors: [{ parameter: 'X-User-Address' }],
        });
    });

    it.each(routes)(
      'needs the key with its permission and an address, for which it counts rejected requests: %s %s (L30)',
      async (method, path, body) => {
        const ip = newAddress();
        const send = (headers: Record<string, string>) => {
          // Wrong passwords of one login would lock it.
          const unknown = path === '/auth/login' ? { ...body, login: `nobody-${++count}` } : body;
          return service.send(method, path, { body: unknown, headers, ip });
        };
        expect((await send(headersOf(newAddress(), 'none'))).body.code).toBe('auth.key_invalid');
        expect((await send(headersOf(newAddress(), weak.key))).body.code).toBe('access.denied');
        expect((await send(headersOf())).body.errors).toMatchObject([{ parameter: 'X-User-Address' }]);
        const [one, two] = [newAddress(), newAddress()];
        const first = await statusesOf(perMinute, () => send(headersOf(one)));
        expect(first).not.toContain(429);
        expect((await send(headersOf(one))).status).toBe(429);
        expect((await send(headersOf(two))).status).toBe(first[0]);
      },
    );

    it('ignores an address without a key (L30)', async () => {
      const ip = newAddress();
      const { name } = await service.createUser();
      const send = (address: string) =>
        service.post('/auth/login', { body: { login: name, password }, ip, headers: { 'x-user-address': address } });
      const { body } = await send(newAddress());
      expect(await sessionOf(body.access_token)).toMatchObject({ ip });
      expect(decode(body.access_token)['client_id']).toBe('carrier-platform');
      expect(await statusesOf(perMinute, () => send(newAddress()))).toEqual([...times(200, perMinute - 1), 429]);
    });

    it('checks the address of the user against allowed_ips and known addresses (L30)', async () => {
      const [home, strange] = [newAddress(), newAddress()];
      const bound = await service.createUser({ allowed_ips: [home] });
      const refused = await login(bound.name, strange);
      expect([refused.status, refused.body.code]).toEqual([403, 'auth.ip_not_allowed']);
      expect((await login(bound.name, home)).status).toBe(200);
      expect((await login(bound.name, home, password, home)).status).toBe(200);
      const user = await service.createUser();
      expect((await login(user.name, home)).status).toBe(200);
      // A stranger locks the user out everywhere but at the known address.
      for (let failures = 0; failures < 5; failures++) await login(user.name, newAddress(), wrong);
      expect((await login(user.name, newAddress())).status).toBe(429);
      expect((await login(user.name, home)).status).toBe(200);
    });

    it('uses the address of the user in the second step, and the limits of the tokens (L30)', async () => {
      const home = newAddress();
      const { name, user_id } = await service.createUser({ allowed_ips: [home] });
      const app = await Authenticator.enrol(service, user_id);
      const { body } = await login(name, home);
      const complete = (address: string, path: string, fields: object) =>
        service.post(path, { body: { challenge: body.challenge, ...fields }, ip: portal, headers: headersOf(address) });
      const options = '/auth/second-factor/passkey-options';
      expect((await complete(newAddress(), options, {})).status).toBe(401);
      expect((await complete(home, options, {})).status).toBe(200);
      const completed = await complete(home, '/auth/second-factor', { code: app.code(), permissions: [] });
      expect(completed.status).toBe(200);
      expect(await sessionOf(completed.body.access_token)).toMatchObject({ ip: home, user_agent: agent });
      expect(decode(completed.body.access_token)).toMatchObject({ client_id: key.key_id, permissions: [] });
    });

    it('ignores the key for users outside its scope (L30)', async () => {
      const home = newAddress();
      for (const fields of [{ carrier_id: 'c2' }, { user_type: 'system' }]) {
        const ip = newAddress();
        const user = await service.createUser({ ...fields, allowed_ips: [ip] });
        const { body } = await login(user.name, home, password, ip);
        expect(await sessionOf(body.access_token)).toMatchObject({ ip });
        expect(decode(body.access_token)['client_id']).toBe('carrier-platform');
        const claimed = await login(user.name, ip, password, newAddress());
        expect([claimed.status, claimed.body.code]).toEqual([403, 'auth.ip_not_allowed']);
      }
    });

    it('limits passwords for users outside the scope like logins from the address of the portal (L30)', async () => {
      const ip = newAddress();
      const users: { name: string }[] = [];
      while (users.length < perMinute + 2) users.push(await service.createUser({ carrier_id: 'c2' }));
      const statuses = await statusesOf(users.length, (index) =>
        login(users[index]?.name ?? '', newAddress(), password, ip),
      );
      expect(statuses).toEqual([...times(200), 401, 401]);
      const inside = await service.createUser();
      expect((await login(inside.name, newAddress(), password, ip)).status).toBe(200);
    });

    it('gives unknown users and users in and outside the scope the same response, beyond limits (L30)', async () => {
      const ip = newAddress();
      const [inside, outside] = [await service.createUser(), await service.createUser({ carrier_id: 'c2' })];
      const traces = [];
      for (const name of ['nobody-here', inside.name, outside.name, 'nobody-there']) {
        const address = newAddress();
        const trace: object[] = [];
        for (let index = 0; index < perMinute + 1; index++) {
          const { status, headers, ...rest } = await login(name, address, wrong, ip);
          trace.push({
            ...visiblePart({ status, headers: { ...headers, 'retry-after': '', ratelimit: '' }, ...rest }),
          });
        }
        const other = await login(name, newAddress(), wrong, ip);
        traces.push([trace, other.status, other.body.code, other.headers['retry-after']]);
      }
      expect(traces.slice(1)).toEqual([traces[0], traces[0], traces[0]]);
    });

    it('requests and uses reset links for the address of the user (L30)', async () => {
      const home = newAddress();
      const request = (body: object) => ({ body, ip: portal, headers: headersOf(home) });
      for (const [fields, ip] of [
        [{}, home],
        [{ carrier_id: 'c2' }, portal],
      ] as const) {
        const { user_id, email } = await service.createUser(fields);
        expect((await service.post('/auth/reset_email', request({ email }))).status).toBe(202);
        const { token } = await service.mailbox.take(email, /\/auth\/reset\//);
        const used = await service.post(`/auth/reset/${token}`, request({ password: 'a quiet river under bridges' }));
        expect(used.status).toBe(204);
        const ips = `select host(ip) as ip from events where target_id = $1 and event_type like 'password.reset%'`;
        expect(await service.rows(ips, [user_id])).toEqual([{ ip }, { ip }]);
      }
    });

    it('checks the key even if the token is cached (L30)', async () => {
      const { token } = await service.loginAs();
      const check = (given: string) =>
        service.post('/auth/check-token', { body: { token }, headers: headersOf(newAddress(), given) });
      expect((await check(key.key)).status).toBe(200);
      expect((await check('none')).body.code).toBe('auth.key_invalid');
    });
  });
});
