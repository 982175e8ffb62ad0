import { enrolApp } from '../../support/factors';
import { password, TestService } from '../../support/service';

describe('an id in upper case in the path', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const failTimes = async (times: number, login: string) => {
    for (let failures = 0; failures < times; failures++)
      await service.post('/auth/login', { body: { login, password: `${password}!` }, ip: '198.51.100.9' });
  };

  it('lets users neither reset their own factors nor unlock themselves (M11, M3, Z22)', async () => {
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    await enrolApp(service, operator);
    const path = `/user/${operator.user_id.toUpperCase()}`;
    const reset = await service.delete(`${path}/factor/all`, operator);
    const unlocked = await service.post(`${path}/unlock`, operator);
    for (const { status, body } of [reset, unlocked])
      expect([status, body?.code]).toEqual([403, 'user.self_protected']);
    expect((await service.get('/user', operator)).body.second_factors).toEqual(['totp']);
  });

  it('lifts the lockout of the user (L5, Z22)', async () => {
    const { name, user_id } = await service.createUser();
    await failTimes(5, name);
    const unlocked = await service.post(`/user/${user_id.toUpperCase()}/unlock`, service.admin);
    expect(unlocked.status).toBe(204);
    const login = await service.post('/auth/login', { body: { login: name, password }, ip: '198.51.100.9' });
    expect(login.status).toBe(200);
  });
});
