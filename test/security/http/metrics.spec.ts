import { METHODS } from 'node:http';
import { parseScrape } from '../../support/metrics';
import { adminEmail, TestService } from '../../support/service';

const token = 'prometheus-0123456789-abcdefghijklmnop';

describe('metrics with METRICS_TOKEN', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ METRICS_TOKEN: token });
  });
  afterAll(() => service.close());

  const scrape = () => service.get('/metrics', { token });

  it.each([
    ['no token', {}, 'auth.token_missing'],
    ['an empty token', { authorization: 'Bearer ' }, 'auth.token_invalid'],
    ['another token', { authorization: `Bearer ${'x'.repeat(token.length)}` }, 'auth.token_invalid'],
    ['the beginning of the token', { authorization: `Bearer ${token.slice(0, -1)}` }, 'auth.token_invalid'],
    ['the token and more', { authorization: `Bearer ${token}x` }, 'auth.token_invalid'],
    ['the token as a password', { authorization: `Basic ${btoa(`x:${token}`)}` }, 'auth.token_invalid'],
    ['the token in another header', { 'x-auth-token': token }, 'auth.token_missing'],
  ])('rejects %s (O15)', async (_name, headers, code) => {
    const { status, body } = await service.get('/metrics', { headers });
    expect([status, body.code]).toEqual([401, code]);
  });

  it('rejects the access token of an administrator, because metrics cover all carriers', async () => {
    expect((await service.get('/metrics', { token: service.admin.token })).status).toBe(401);
  });

  /** Returns the names of all series except recurring jobs, which appear only during a run. */
  const series = async () => {
    const names = [...parseScrape((await scrape()).text).keys()];
    return names.filter((name) => !/^carrier_identity_job(s|_age_seconds)\{/.test(name));
  };

  it('has a bounded number of series for any paths, methods and ids that clients send', async () => {
    const requests = async (round: number) => {
      for (let request = 0; request < 30; request++) {
        const name = `${round}-${request}-${Math.random()}`;
        await service.get(`/${name}`);
        await service.get(`/user/${name}`, { token: service.admin.token });
        await service.get(`/docs/errors/${name}`);
        await service.post('/auth/login', { body: { login: name, password: name } });
      }
      for (const method of METHODS.filter((one) => one !== 'CONNECT')) await service.send(method, '/mail/list');
    };
    await requests(1);
    // The first scrape adds the series of scrapes.
    await scrape();
    const before = await series();
    await requests(2);
    expect((await series()).filter((name) => !before.includes(name))).toEqual([]);
  });

  it('contains neither users, addresses, ids nor tokens', async () => {
    const { name, email, user_id, token: access, session_id } = await service.loginAs();
    await service.get(`/user/${user_id}`, { token: access });
    await service.get('/user/list?email=secret@example.com', { token: service.admin.token });
    const { text } = await scrape();
    expect(text).toContain('/user/{user_id}');
    for (const value of [name, email, user_id, access, session_id, adminEmail, 'secret', '127.0.0.1', token])
      expect(text).not.toContain(value);
  });
});

it('does not exist without METRICS_TOKEN (H20)', async () => {
  const service = await TestService.start();
  expect((await service.get('/metrics')).status).toBe(404);
  expect((await service.get('/metrics', { token: service.admin.token })).status).toBe(404);
  await service.close();
});
