import { createHash } from 'node:crypto';
import { createKey } from '../support/keys';
import { mailedResetToken } from '../support/links';
import { appSecret, password, type TestLogin, TestService } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { tableContents } from '../support/tables';

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
  ])('stores the SHA-256 of %s but not the secret, and accepts no other character (O15)', async (_kind, make, use) => {
    const secret = await make();
    const stored = await tableContents(service);
    expect(stored).toContain(createHash('sha256').update(secret).digest('hex'));
    expect(stored).not.toContain(secret);
    expect(stored).not.toContain(Buffer.from(secret.replace(/^cik_/, ''), 'base64url').toString('hex'));
    for (const wrong of wrongOnes(secret, 4)) expect((await use(wrong)).status).toBeGreaterThanOrEqual(400);
    expect((await use(secret)).status).toBeLessThan(300);
  });

  it('accepts no cursor, confirm token or code of a refresh token with a wrong character (O15)', async () => {
    const { token } = service.admin;
    const { refresh_token } = await service.login(user.name);
    const cursor = (await service.get('/user/list?per_page=1', { token })).body.next_cursor as string;
    const { body } = await service.delete(`/user/all?user_id=${user.user_id}&dry_run=true`, { token });
    const confirm = body.confirm_token as string;
    // The first 64 characters of a refresh token contain the session id and the secret.
    for (const refresh of wrongOnes(refresh_token, 64))
      expect((await service.post('/auth/check-token', { body: { refresh_token: refresh } })).status).toBe(401);
    for (const text of wrongOnes(cursor, cursor.indexOf('.') + 1))
      expect((await service.get(`/user/list?per_page=1&cursor=${text}`, { token })).status).toBe(400);
    for (const text of wrongOnes(confirm, confirm.indexOf('.') + 1)) {
      const answer = await service.delete(`/user/all?user_id=${user.user_id}&confirm_token=${text}`, { token });
      expect(answer.status).toBe(400);
    }
    expect((await service.get(`/user/list?per_page=1&cursor=${cursor}`, { token })).status).toBe(200);
    expect((await service.post('/auth/check-token', { body: { refresh_token } })).status).toBe(200);
  });

  it('shows no password in responses, audit, mails, tables or logs (P10)', async () => {
    const instance = await ServiceProcess.beside(service, { LOG_LEVEL: 'trace' });
    const canaries = [
      'Zx9!CANARY-one-8841',
      'Zx9!CANARY-two-8842',
      'Zx9!CANARY-three-8843',
      'CANARY-short',
      'Zx9!CANARY-wrong-8845',
    ];
    const [first = '', second = '', third = '', short = '', wrong = ''] = canaries;
    const seen: string[] = [];
    const send = async (method: string, path: string, request: Parameters<ServiceProcess['send']>[2]) => {
      const answer = await instance.send(method, path, request);
      seen.push(answer.text, JSON.stringify(answer.headers));
      return answer;
    };
    const { token } = service.admin;
    const canary = {
      name: 'yellowbird',
      email: 'yellowbird@example.com',
      user_type: 'carrier',
      carrier_id: 'c1',
      must_change_password: false,
    };
    const created = await send('POST', '/user/create', { token, body: { ...canary, password: first } });
    expect(created.status).toBe(201);
    await send('POST', '/user/create', { token, body: { ...canary, password: second } });
    await send('POST', '/user/create', { token, body: { ...canary, name: 'other', password: short } });
    await send('POST', '/auth/login', { body: { login: 'yellowbird', password: wrong } });
    await send('POST', '/auth/login', { body: { login: wrong, password: wrong } });
    await send('POST', '/auth/login', {
      headers: { 'content-type': 'text/plain' },
      body: { login: 'yellowbird', password: wrong },
    });
    await send('POST', `/auth/login?password=${encodeURIComponent(wrong)}`, {
      body: { login: 'yellowbird', password: wrong },
    });
    const login = await instance.send('POST', '/auth/login', { body: { login: 'yellowbird', password: first } });
    expect(login.status).toBe(200);
    const own = { token: login.body.access_token };
    const changed = await send('POST', '/auth/password', {
      ...own,
      body: { current_password: first, new_password: second },
    });
    expect(changed.status).toBe(204);
    await send('POST', '/auth/reset_email', { body: { email: 'yellowbird@example.com' } });
    const mail = await service.mailbox.take('yellowbird@example.com', /\/auth\/reset\//);
    expect((await send('POST', `/auth/reset/${mail.token}`, { body: { password: third } })).status).toBe(204);
    await send('GET', `/user/${created.body.user_id}`, { token });
    await send('GET', '/user/list?name=yellowbird', { token });
    await send('GET', '/audit/list?per_page=500', { token });
    seen.push(mail.source, (await service.mailbox.take('yellowbird@example.com')).source);
    seen.push(...service.mailbox.mails.map(({ source }) => source), await tableContents(service));
    expect(await instance.stop()).toBe(0);
    expect(instance.output).toContain('"route":"/auth/login"');
    for (const hidden of [...canaries, mail.token ?? '-', login.body.access_token, login.body.refresh_token]) {
      expect(instance.output).not.toContain(hidden);
    }
    for (const hidden of canaries.slice(0, 3).concat(wrong)) expect(seen.join('\n')).not.toContain(hidden);
  });

  it('shows no hash, regardless of the parameters (P11)', async () => {
    const { token } = service.admin;
    const asked = [
      'fields=password_hash',
      'select=password_hash',
      'expand=credentials',
      'include=credentials',
      'password_hash=x',
      'order_by=password_hash',
    ];
    const more = [
      'password_hash_like=argon',
      'credentials.password_hash_isnull=false',
      'search_text_like=argon',
      'attributes.password_hash=x',
    ];
    const paths = [
      '/user',
      `/user/${user.user_id}`,
      '/user/list?per_page=500',
      '/auth/session/list?per_page=500',
      '/audit/list?per_page=500',
    ];
    const queries = [...asked, ...more].flatMap((query) => [
      `/user/list?${query}`,
      `/user/${user.user_id}?${query}`,
      `/auth/session/list?${query}`,
    ]);
    for (const path of [...paths, ...queries]) {
      const { text, status } = await service.get(path, { token });
      expect([path, text]).not.toEqual([
        path,
        expect.stringMatching(/argon2|\$m=|"[a-z_]*(hash|salt|secret|refresh_token)[a-z_]*":/),
      ]);
      expect([path, paths.includes(path) || path.includes('attributes.') ? [200, 400] : [400]]).toEqual([
        path,
        expect.arrayContaining([status]),
      ]);
    }
  });

  it('does not start with a weak secret or without one (J13)', async () => {
    const { DATABASE_URL } = service.config;
    for (const secret of ['secret', '', 'secret'.repeat(7)]) {
      const instance = new ServiceProcess({ DATABASE_URL, APP_SECRET: secret });
      expect(await instance.exit).toBe(1);
      expect(instance.output).toMatch(/APP_SECRET: (must|is too)/);
    }
  });

  it('does not start with a secret that differs from the database, and overwrites nothing (J13)', async () => {
    const keys = await service.rows('select * from signing_keys');
    const { DATABASE_URL } = service.config;
    const instance = new ServiceProcess({ DATABASE_URL, APP_SECRET: [...appSecret].reverse().join('') });
    expect(await instance.exit).toBe(1);
    expect(instance.output).toContain('APP_SECRET: differs from the secret');
    expect(await service.rows('select * from signing_keys')).toEqual(keys);
  });
});
