import { enrolApp } from '../../support/factors';
import { createKey } from '../../support/keys';
import { password, type TestAnswer, type TestLogin, TestService } from '../../support/service';

const limit = 60;

describe('the limit of changes that users make to themselves', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`insert into roles (name, user_types, permissions) values
      ('editor', '{system}', '{user:update,key:manage}')`);
  });
  afterAll(() => service.close());
  beforeEach(() => service.rows('delete from rate_limits'));

  const rename = ({ token }: Pick<TestLogin, 'token'>, user_id: string, first_name: string) =>
    service.patch(`/user/${user_id}`, { token, body: { first_name } });
  const events = async (user_id: string, event_type: string) =>
    (await service.rows('select 1 from events where target_id = $1 and event_type = $2', [user_id, event_type])).length;
  const almost = () => service.rows('update rate_limits set hits = $1', [limit - 1]);
  const assertLimited = ({ status, body, headers }: TestAnswer) => {
    expect([status, body.code]).toEqual([429, 'request.rate_limited']);
    expect(Number(headers['retry-after'])).toBeGreaterThan(3_500);
    expect([headers['ratelimit-policy'], headers['ratelimit']]).toEqual([
      '"self-changes";q=60;w=3600',
      `"self-changes";r=0;t=${String(headers['retry-after'])}`,
    ]);
  };

  it('rejects the 61st change within an hour, but counts no change without effect (B34)', async () => {
    const user = await service.loginAs();
    for (let n = 1; n <= limit; n++) {
      expect((await rename(user, user.user_id, `Name ${n}`)).status).toBe(200);
      expect((await rename(user, user.user_id, `Name ${n}`)).status).toBe(n === limit ? 429 : 200);
    }
    assertLimited(await rename(user, user.user_id, 'More'));
    expect(await events(user.user_id, 'user.changed')).toBe(limit);
    expect((await service.get('/user', user)).body.first_name).toBe(`Name ${limit}`);
    expect((await rename(service.admin, user.user_id, 'By an administrator')).status).toBe(200);
    await service.rows(`update rate_limits set ends_at = ends_at - interval '1 hour'`);
    expect((await rename(user, user.user_id, 'Next hour')).status).toBe(200);
  });

  it('records 60 of 100 parallel changes (B34)', async () => {
    const user = await service.loginAs();
    const names = Array.from({ length: 100 }, (_, n) => `Name ${n}`);
    const answers = await Promise.all(names.map((name) => rename(user, user.user_id, name)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(limit);
    expect(await events(user.user_id, 'user.changed')).toBe(limit);
  });

  it('counts API keys as their creator, and never limits changes of other users (B34)', async () => {
    const editor = await service.loginAs({ user_type: 'system', roles: ['editor'] });
    const { key } = await createKey(service, ['user:update', 'key:manage'], {}, editor);
    const other = await service.createUser();
    for (let n = 1; n <= limit; n++)
      expect((await rename({ token: n % 2 === 0 ? key : editor.token }, editor.user_id, `Name ${n}`)).status).toBe(200);
    for (const token of [editor.token, key]) {
      assertLimited(await rename({ token }, editor.user_id, 'More'));
      expect((await rename({ token }, other.user_id, `By ${token.slice(-9)}`)).status).toBe(200);
    }
  });

  it.each<[string, string, (user: TestLogin & { name: string }, factor_id: string) => Promise<TestAnswer>]>([
    [
      'names of a factor',
      'factor.renamed',
      ({ token }, factor_id) =>
        service.patch(`/auth/factor/${factor_id}`, { token, body: { name: `App ${Math.random()}` } }),
    ],
    [
      'new recovery codes',
      'factor.recovery_codes_renewed',
      ({ token }) => service.post('/auth/factor/recovery-codes', { token }),
    ],
  ])('limits %s (B34)', async (_title, event_type, send) => {
    const user = await service.loginAs();
    const { factor_id } = await enrolApp(service, user);
    await service.rows('delete from rate_limits');
    expect((await send(user, factor_id)).status).toBe(200);
    await service.rows('update rate_limits set hits = $1', [limit - 1]);
    expect((await send(user, factor_id)).status).toBe(200);
    assertLimited(await send(user, factor_id));
    expect(await events(user.user_id, event_type)).toBe(2);
    expect((await service.delete(`/auth/factor/${factor_id}`, user)).status).toBe(204);
  });

  it('limits changes of the password and reauthentications separately (B34)', async () => {
    const user = await service.loginAs();
    const passwords = [password, `${password} 2`, `${password} 3`, `${password} 4`];
    const change = (n: number) =>
      service.post('/auth/password', {
        token: user.token,
        body: { current_password: passwords[n], new_password: passwords[n + 1] },
      });
    const reauthenticate = (n: number) =>
      service.post('/auth/reauthenticate', { token: user.token, body: { password: passwords[n] } });
    expect((await rename(user, user.user_id, 'Ada')).status).toBe(200);
    await almost();
    expect((await rename(user, user.user_id, 'Eva')).status).toBe(200);
    expect((await change(0)).status).toBe(204);
    await almost();
    expect((await change(1)).status).toBe(204);
    assertLimited(await change(2));
    expect((await reauthenticate(2)).status).toBe(200);
    await almost();
    expect((await reauthenticate(2)).status).toBe(200);
    assertLimited(await reauthenticate(2));
    expect(await events(user.user_id, 'password.changed')).toBe(2);
  });
});
