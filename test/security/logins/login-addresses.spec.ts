import { FirstAdministrator } from '../../../src/recovery/first-administrator.service';
import { adminEmail, password, TestService } from '../../support/service';

const perMinute = 20;
const limits = { LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: String(perMinute) };
const wrong = 'one password for all of them';

let count = 0;
const attempt = (service: TestService, ip: string, headers: Record<string, string> = {}) =>
  service.post('/auth/login', { body: { login: `account-${++count}`, password: wrong }, ip, headers });
const attempts = async (times: number, one: (index: number) => ReturnType<typeof attempt>) => {
  const answers = [];
  for (let index = 0; index < times; index++) answers.push(await one(index));
  return answers;
};
const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status);
const [looked, refused] = [
  (times: number) => Array<number>(times).fill(401),
  (times: number) => Array<number>(times).fill(429),
];

describe('logins from one address', () => {
  let service: TestService;
  beforeAll(async () => (service = await TestService.start(limits)));
  afterAll(() => service.close());

  it('verifies a limited number of passwords when one password is tried on a hundred accounts (L8)', async () => {
    const answers = await attempts(100, () => attempt(service, '192.0.2.1'));
    expect(statuses(answers)).toEqual([...looked(perMinute), ...refused(100 - perMinute)]);
    const last = answers.at(-1);
    expect(last?.body).toMatchObject({ code: 'auth.too_many_attempts' });
    expect(last?.headers).toMatchObject({ 'ratelimit-policy': `"login";q=${perMinute};w=60` });
    expect(Number(last?.headers['retry-after'])).toBeGreaterThan(0);
    const [row] = await service.rows<{ n: number }>(
      'select count(*)::integer as n from login_attempts where failures > 0',
    );
    expect(row?.n).toBe(perMinute);
    expect((await attempt(service, '192.0.2.2')).status).toBe(401);
  });

  it('shares the limit with other ways to try a password, and per IPv6 /64 (L8, L17)', async () => {
    const ip = '192.0.2.8';
    const ways = [
      () => attempt(service, ip),
      () => service.post('/auth/reset_email', { body: { email: `unknown-${++count}@example.com` }, ip }),
      () => service.post(`/auth/reset/${'x'.repeat(42)}y`, { body: { password: 'a new and long password' }, ip }),
    ];
    const mixed = await attempts(perMinute + ways.length, (index) =>
      (ways[index % ways.length] as (typeof ways)[number])(),
    );
    expect(statuses(mixed.slice(0, perMinute))).not.toContain(429);
    expect(statuses(mixed.slice(perMinute))).toEqual(refused(ways.length));
    const hosts = await attempts(perMinute + 5, (index) => attempt(service, `2001:db8:0:8::${index + 1}`));
    expect(statuses(hosts)).toEqual([...looked(perMinute), ...refused(5)]);
    expect((await attempt(service, '2001:db8:0:9::1')).status).toBe(401);
  });

  it.each([
    'x-forwarded-for',
    'x-real-ip',
    'forwarded',
    'cf-connecting-ip',
    'true-client-ip',
    'x-client-ip',
    'x-forwarded-host',
  ])('limits the address of the connection, regardless of %s (L9)', async (name) => {
    const ip = `192.0.2.${100 + (++count % 100)}`;
    const answers = await attempts(perMinute + 10, (index) => attempt(service, ip, { [name]: `203.0.113.${index}` }));
    expect(statuses(answers)).toEqual([...looked(perMinute), ...refused(10)]);
  });
});

describe('logins from one address behind a proxy', () => {
  let service: TestService;
  beforeAll(async () => (service = await TestService.start({ ...limits, TRUST_PROXY: '10.0.0.0/8' })));
  afterAll(() => service.close());

  it('limits the address that a trusted proxy saw, and ignores claims of clients and other peers (L9)', async () => {
    const seen = (spoofed: number, real: string) => ({ 'x-forwarded-for': `203.0.113.${spoofed}, ${real}` });
    const answers = await attempts(perMinute + 10, (index) => attempt(service, '10.1.2.3', seen(index, '192.0.2.1')));
    expect(statuses(answers)).toEqual([...looked(perMinute), ...refused(10)]);
    expect((await attempt(service, '10.1.2.3', seen(1, '192.0.2.2'))).status).toBe(401);
    const untrusted = await attempts(perMinute + 10, (index) =>
      attempt(service, '192.0.2.9', seen(index, `198.51.100.${index}`)),
    );
    expect(statuses(untrusted)).toEqual([...looked(perMinute), ...refused(10)]);
  });
});

it.each([
  ['0.0.0.0/0', '192.0.2.9', '198.51.100.7'],
  ['::/0', '2001:db8::9', '2001:db8::7'],
])('starts with a proxy network of all addresses, and believes it: %s (L9)', async (TRUST_PROXY, proxy, ip) => {
  const service = await TestService.start({ TRUST_PROXY });
  const body = { login: adminEmail, password };
  const login = await service.post('/auth/login', { body, ip: proxy, headers: { 'x-forwarded-for': ip } });
  const { body: sessions } = await service.get('/auth/session/list', { token: login.body.access_token });
  expect(sessions.items.map((session: { ip: string }) => session.ip)).toContain(ip);
  await service.close();
});

describe('the first administrator', () => {
  let service: TestService;
  beforeAll(async () => (service = await TestService.start()));
  afterAll(() => service.close());

  it('has no default name and password (L14)', async () => {
    const names = [
      'admin',
      'administrator',
      'root',
      'system',
      'carrier-identity',
      'admin@localhost',
      'administrator@carrier-identity.invalid',
    ];
    const passwords = [
      'admin',
      'administrator',
      'password',
      'changeme',
      'carrier-identity',
      '12345678',
      'admin123',
      'secret',
    ];
    for (const [index, login] of names.entries()) {
      for (const [nth, password] of passwords.entries()) {
        const answer = await service.post('/auth/login', {
          body: { login, password },
          ip: `192.0.2.${index * 20 + nth}`,
        });
        expect([400, 401, 429]).toContain(answer.status);
      }
    }
  });

  it('cannot be created and gets no link once any user exists (L14)', async () => {
    await service.rows(`update users set deleted_at = now() where name = 'administrator'`);
    const before = await service.rows('select count(*) as n from users');
    expect(await service.app.get(FirstAdministrator).ensure()).toBeNull();
    expect(await service.rows('select count(*) as n from users')).toEqual(before);
  });
});
