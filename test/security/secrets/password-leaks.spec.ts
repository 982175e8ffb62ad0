import * as argon2 from '@node-rs/argon2';
import { type TestLogin, TestService } from '../../support/service';
import { ServiceProcess } from '../../support/service-process';
import { tableContents } from '../../support/tables';

// The real functions, with their calls counted.
jest.mock('@node-rs/argon2', () => {
  const real = jest.requireActual<typeof argon2>('@node-rs/argon2');
  return { ...real, hash: jest.fn(real.hash), verify: jest.fn(real.verify) };
});

describe('passwords in responses and tables', () => {
  let service: TestService;
  let user: TestLogin & { name: string; email: string };

  beforeAll(async () => {
    service = await TestService.start();
    user = await service.loginAs({ carrier_id: 'acmecarrier' });
  });
  afterAll(() => service.close());

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
});
