import { Authenticator, firstStep } from '../../support/second-factors';
import { password, TestService } from '../../support/service';

describe('authentication within a session', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const rows = (text: string, values: unknown[]) => service.rows(text, values);
  const post = (url: string, request: { body: object; ip?: string }) => service.post(url, request);
  const again = (token: string, body: object) => service.post('/auth/reauthenticate', { token, body });
  const age = (session_id: string) =>
    service.rows(`update sessions set auth_time = now() - interval '10 minutes' where session_id = $1`, [session_id]);
  const secondsAgo = async (token: string) => {
    const { body } = await service.post('/auth/check-token', { body: { token } });
    return (Date.now() - Date.parse(body.session.auth_time as string)) / 1_000;
  };

  it('renews auth_time for older access tokens, too, and issues a token with it (S24)', async () => {
    const { token, session_id, user_id } = await service.loginAs();
    await age(session_id);
    expect(await secondsAgo(token)).toBeGreaterThan(500);
    const { status, body } = await again(token, { password });
    expect([status, body.token_type, body.expires_in]).toEqual([200, 'Bearer', 600]);
    expect(await secondsAgo(token)).toBeLessThan(60);
    const claims = JSON.parse(Buffer.from(body.access_token.split('.')[1], 'base64url').toString());
    expect(claims).toMatchObject({ sid: session_id, amr: ['pwd'] });
    expect(Date.now() / 1_000 - claims.auth_time).toBeLessThan(60);
    const recorded = `select session_id from events where event_type = 'login.reauthenticated' and target_id = $1`;
    expect(await service.rows(recorded, [user_id])).toEqual([{ session_id }]);
  });

  it('counts wrong passwords like those of a login (L17)', async () => {
    const { token, session_id, name } = await service.loginAs();
    await age(session_id);
    const codes: string[] = [];
    for (let index = 0; index < 6; index++) codes.push((await again(token, { password: `${password}!` })).body.code);
    expect(codes).toEqual([...Array<string>(5).fill('auth.wrong_current_password'), 'auth.too_many_attempts']);
    expect((await post('/auth/login', { body: { login: name, password } })).status).toBe(429);
    expect(await secondsAgo(token)).toBeGreaterThan(500);
  });

  it('accepts codes and recovery codes once, but no password, from a user with a second factor (S24)', async () => {
    const { name, user_id } = await service.createUser();
    const app = await Authenticator.enrol(rows, user_id);
    const challenge = await firstStep(post, name);
    const login = (await post('/auth/second-factor', { body: { challenge, code: app.code() } })).body;
    const [token, recovery_code] = [login.access_token as string, await app.recoveryCode()];
    await age(login.session_id as string);
    expect((await again(token, { password })).body).toMatchObject({
      code: 'request.invalid',
      errors: [{ pointer: '/password', code: 'field.not_allowed' }],
    });
    expect((await again(token, { code: app.code() })).body.code).toBe('auth.invalid_second_factor');
    expect(await secondsAgo(token)).toBeGreaterThan(500);
    expect((await again(token, { code: app.code(1) })).status).toBe(200);
    expect(await secondsAgo(token)).toBeLessThan(60);
    await age(login.session_id as string);
    expect((await again(token, { recovery_code })).status).toBe(200);
    expect((await again(token, { recovery_code })).body.code).toBe('auth.invalid_second_factor');
    expect(await secondsAgo(token)).toBeLessThan(60);
  });

  it('requires exactly one proof, and a session that is live', async () => {
    const { token } = await service.loginAs();
    for (const body of [{}, { password, code: '123456' }, { challenge: 'x', password }])
      expect((await again(token, body)).body.code).toBe('request.invalid');
    await service.post('/auth/logout', { token });
    expect((await again(token, { password })).body.code).toBe('auth.token_invalid');
  });
});
