import { TestService } from '../../support/service';

const challenge = 'Bearer error="insufficient_user_authentication", max_age="300"';

describe('fresh authentication', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  /** Sets the last authentication of a session back to ten minutes ago. */
  const age = async (session_id: string) =>
    service.rows(`update sessions set auth_time = now() - interval '10 minutes' where session_id = $1`, [session_id]);

  it('rejects a sensitive request of a session with an old authentication, with a challenge (S24)', async () => {
    const login = await service.login('administrator');
    const body = { name: 'planner', user_types: ['system'] };
    await age(login.session_id);
    const stale = await service.post('/role/create', { token: login.token, body });
    expect([stale.status, stale.body.code, stale.headers['www-authenticate']]).toEqual([
      401,
      'auth.reauthentication_required',
      challenge,
    ]);
    await service.rows('update sessions set auth_time = now() where session_id = $1', [login.session_id]);
    expect((await service.post('/role/create', { token: login.token, body })).status).toBe(201);
  });

  it('returns 403 and 400 before the 401, and the 401 before 404 (S24)', async () => {
    const login = await service.login('administrator');
    const user = await service.loginAs();
    await age(login.session_id);
    await age(user.session_id);
    const missing = '/role/no-such-role';
    expect((await service.patch(missing, { token: user.token, body: {} })).status).toBe(403);
    expect((await service.patch(missing, { token: login.token, body: { permissions: 1 } })).status).toBe(400);
    expect((await service.patch(missing, { token: login.token, body: {} })).status).toBe(401);
  });
});
