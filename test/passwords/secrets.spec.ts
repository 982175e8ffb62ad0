import { createHash } from 'node:crypto';
import { createKey } from '../support/data/keys';
import { mailedResetToken } from '../support/data/links';
import { appSecret, password, type TestLogin, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { tableContents } from '../support/contract/tables';

type User = TestLogin & { name: string; email: string };

/** Returns a secret with one wrong character: at `from`, in the middle, or near the end. */
function wrongOnes(secret: string, from: number): string[] {
  const places = [from, from + Math.floor((secret.length - from) / 2), secret.length - 2];
  return places.map((at) => secret.slice(0, at) + (secret[at] === 'A' ? 'B' : 'A') + secret.slice(at + 1));
}

/** Secrets of users and of the service: what is stored, shown and accepted of them. */
describe('secrets', () => {
  let service: TestService;
  let user: User;

  beforeAll(async () => {
    service = await TestService.start();
    user = await service.loginAs({ carrier_id: 'acmecarrier' });
  });
  afterAll(() => service.close());

  it.each<[kind: string, make: () => Promise<string>, use: (secret: string) => Promise<{ status: number }>]>([
    ['a reset link', () => mailedResetToken(service, user.email), (secret) => service.get(`/auth/reset/${secret}`)],
    [
      'a link that confirms an e-mail address',
      async () => {
        const { email, token } = await service.loginAs();
        await service.post('/auth/email', { token, body: { email: `new-${email}`, current_password: password } });
        return (await service.mailbox.take(`new-${email}`)).token ?? '';
      },
      (secret) => service.get(`/auth/email/${secret}`),
    ],
    [
      'an API key',
      async () => (await createKey(service, ['user:read'])).key,
      (secret) => service.get('/user/list', { token: secret }),
    ],
    [
      'a refresh token',
      async () => (await service.loginAs()).refresh_token,
      (secret) => service.post('/auth/check-token', { body: { refresh_token: secret } }),
    ],
  ])(
    'stores the SHA-256 of %s but not the secret, and accepts no other character (O15, R21)',
    async (_kind, make, use) => {
      const secret = await make();
      const stored = await tableContents(service);
      expect(stored).toContain(createHash('sha256').update(secret).digest('hex'));
      expect(stored).not.toContain(secret);
      expect(stored).not.toContain(Buffer.from(secret.replace(/^cik_/, ''), 'base64url').toString('hex'));
      for (const wrong of wrongOnes(secret, 4)) expect((await use(wrong)).status).toBeGreaterThanOrEqual(400);
      expect((await use(secret)).status).toBeLessThan(300);
    },
  );

  it('shows no password in responses, audit, mails, tables or logs (P10)', async () => {
    const instance = await ServiceProcess.beside(service, { LOG_LEVEL: 'trace' });
    const [first, second, third] = ['Zx9!CANARY-one-8841', 'Zx9!CANARY-two-8842', 'Zx9!CANARY-three-8843'];
    const [short, wrong] = ['CANARY-short', 'Zx9!CANARY-wrong-8845'];
    const seen: string[] = [];
    const send = async (method: string, path: string, request: Parameters<ServiceProcess['send']>[2]) => {
      const answer = await instance.send(method, path, request);
      seen.push(answer.text, JSON.stringify(answer.headers));
      return answer;
    };
    const { token } = service.admin;
    const [name, email] = ['yellowbird', 'yellowbird@example.com'];
    const canary = { name, email, user_type: 'carrier', carrier_id: 'c1', must_change_password: false };
    const created = await send('POST', '/user/create', { token, body: { ...canary, password: first } });
    expect(created.status).toBe(201);
    await send('POST', '/user/create', { token, body: { ...canary, password: second } });
    await send('POST', '/user/create', { token, body: { ...canary, name: 'other', password: short } });
    const body = { login: name, password: wrong };
    await send('POST', '/auth/login', { body });
    await send('POST', '/auth/login', { body: { login: wrong, password: wrong } });
    await send('POST', '/auth/login', { headers: { 'content-type': 'text/plain' }, body });
    await send('POST', `/auth/login?password=${encodeURIComponent(wrong)}`, { body });
    const login = await instance.send('POST', '/auth/login', { body: { login: name, password: first } });
    expect(login.status).toBe(200);
    const own = { token: login.body.access_token };
    const change = { current_password: first, new_password: second };
    const changed = await send('POST', '/auth/password', { ...own, body: change });
    expect(changed.status).toBe(204);
    await send('POST', '/auth/reset_email', { body: { email } });
    const mail = await service.mailbox.take(email, /\/auth\/reset\//);
    expect((await send('POST', `/auth/reset/${mail.token}`, { body: { password: third } })).status).toBe(204);
    await send('GET', `/user/${created.body.user_id}`, { token });
    await send('GET', '/user/list?name=yellowbird', { token });
    await send('GET', '/audit/list?per_page=500', { token });
    seen.push(mail.source, (await service.mailbox.take(email)).source);
    seen.push(...service.mailbox.mails.map(({ source }) => source), await tableContents(service));
    expect(await instance.stop()).toBe(0);
    expect(instance.output).toContain('"route":"/auth/login"');
    const { access_token, refresh_token } = login.body;
    for (const hidden of [first, second, third, short, wrong, mail.token ?? '-', access_token, refresh_token])
      expect(instance.output).not.toContain(hidden);
    for (const hidden of [first, second, third, wrong]) expect(seen.join('\n')).not.toContain(hidden);
  });

  it('shows no hash, regardless of the parameters (P11)', async () => {
    const lists = ['/user/list', '/auth/session/list', '/audit/list'].map((path) => `${path}?per_page=500`);
    const parameters = [
      ...['fields=password_hash', 'select=password_hash', 'expand=credentials', 'include=credentials'],
      ...['password_hash=x', 'order_by=password_hash', 'password_hash_like=argon', 'search_text_like=argon'],
      ...['credentials.password_hash_isnull=false', 'attributes.password_hash=x'],
    ];
    const asked = ['/user/list', `/user/${user.user_id}`, '/auth/session/list'].flatMap((path) =>
      parameters.map((parameter) => `${path}?${parameter}`),
    );
    for (const path of ['/user', `/user/${user.user_id}`, ...lists, ...asked]) {
      const { text, status } = await service.get(path, service.admin);
      const secrets = /argon2|\$m=|"[a-z_]*(hash|salt|secret|refresh_token)[a-z_]*":/;
      expect([path, text]).toEqual([path, expect.not.stringMatching(secrets)]);
      const allowed = !asked.includes(path) ? [200] : path.includes('attributes.') ? [200, 400] : [400];
      expect([path, allowed]).toEqual([path, expect.arrayContaining([status])]);
    }
  });

  it('does not start with a weak secret, or with one that differs from the database (J13)', async () => {
    const keys = await service.rows('select * from signing_keys');
    const { DATABASE_URL } = service.config;
    for (const [APP_SECRET, fault] of [
      ['secret', 'APP_SECRET: must'],
      [[...appSecret].reverse().join(''), 'APP_SECRET: differs from the secret'],
    ] as const) {
      const instance = new ServiceProcess({ DATABASE_URL, APP_SECRET });
      expect(await instance.exit).toBe(1);
      expect(instance.output).toContain(fault);
    }
    expect(await service.rows('select * from signing_keys')).toEqual(keys);
  });
});
