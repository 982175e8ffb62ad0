import { createKey } from '../../support/keys';
import { Authenticator, firstStep } from '../../support/second-factors';
import { password, TestService } from '../../support/service';

const away = '198.51.100.9';

describe('POST /user/{user_id}/unlock', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const post = (url: string, request: { body: object; ip?: string }) => service.post(url, request);
  const unlock = (user_id: string, token: string) => service.post(`/user/${user_id}/unlock`, { token });
  const logIn = (login: string, secret = password) =>
    post('/auth/login', { body: { login, password: secret }, ip: away });
  const shown = async (user_id: string) =>
    (await service.get(`/user/${user_id}`, { token: service.admin.token })).body.locked_until;

  it('lifts the lockouts of passwords and codes, and records it (L5)', async () => {
    const { name, user_id } = await service.createUser();
    const app = await Authenticator.enrol((text, values) => service.rows(text, values), user_id);
    const challenge = await firstStep(post, name, away);
    const step = (code: string, given = challenge) =>
      post('/auth/second-factor', { body: { challenge: given, code }, ip: away });
    for (let failures = 0; failures < 5; failures++) expect((await step(app.wrongCode())).status).toBe(401);
    for (let failures = 0; failures < 5; failures++) await logIn(name, `${password}!`);
    expect((await logIn(name)).status).toBe(429);
    expect(await shown(user_id)).not.toBeNull();
    expect((await unlock(user_id, service.admin.token)).status).toBe(204);
    expect(await shown(user_id)).toBeNull();
    expect((await step(app.code(), await firstStep(post, name, away))).status).toBe(200);
    const recorded = `select actor_id from events where event_type = 'user.unlocked' and target_id = $1`;
    expect(await service.rows(recorded, [user_id])).toEqual([{ actor_id: service.admin.user_id }]);
  });

  it('is rejected for oneself and with an API key, so that codes stay limited (M3)', async () => {
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    expect((await unlock(operator.user_id, operator.token)).body.code).toBe('user.self_protected');
    const key = await createKey(service, ['user:read', 'user:update']);
    const { user_id } = await service.createUser();
    expect((await unlock(user_id, key.key)).body.code).toBe('access.denied');
  });

  it('is rejected for protected users and outside the scope (Z9)', async () => {
    const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const administrator = await service.createUser({ user_type: 'system', roles: ['administrator'] });
    const manager = await service.loginAs({ roles: ['carrier_administrator'] });
    const foreign = await service.createUser({ carrier_id: 'c2' });
    expect((await unlock(administrator.user_id, operator.token)).body.code).toBe('access.protected_user');
    expect((await unlock(foreign.user_id, manager.token)).body.code).toBe('user.not_found');
    expect((await unlock(foreign.user_id, operator.token)).status).toBe(204);
  });
});
