import { enrolApp } from '../../support/factors';
import { addSession } from '../../support/made-logins';
import { type TestAnswer, type TestLogin, TestService } from '../../support/service';

describe('second factors and a stolen session', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const age = ({ session_id }: TestLogin) =>
    service.rows(`update sessions set auth_time = now() - interval '10 minutes' where session_id = $1`, [session_id]);
  const outcome = ({ status, body }: TestAnswer) => `${status} ${body?.code ?? ''}`.trim();
  const stateOf = (user_id: string) =>
    service.rows('select factor_id, confirmed_at from second_factors where user_id = $1 order by factor_id', [user_id]);

  it('neither enrols nor removes a factor without a fresh authentication (M5)', async () => {
    const login = await service.loginAs();
    const { token } = login;
    const { factor_id } = await enrolApp(service, login);
    const before = await stateOf(login.user_id);
    await age(login);
    const attempts = [
      service.post('/auth/factor/totp', { token, body: {} }),
      service.post('/auth/factor/totp/confirm', { token, body: { factor_id, code: '123456' } }),
      service.post('/auth/factor/recovery-codes', { token }),
      service.delete(`/auth/factor/${factor_id}`, { token }),
    ];
    for (const attempt of attempts) expect(outcome(await attempt)).toBe('401 auth.reauthentication_required');
    expect(await stateOf(login.user_id)).toEqual(before);
  });

  it('notifies the user of each enrolment and removal (M5)', async () => {
    const login = await service.loginAs();
    const { factor_id } = await enrolApp(service, login);
    await service.mailbox.take(login.email, /authenticator app/i);
    expect((await service.delete(`/auth/factor/${factor_id}`, login)).status).toBe(204);
    await service.mailbox.take(login.email, /authenticator app/i);
  });

  it('ends with the removal of a factor in another session (S12)', async () => {
    const login = await service.loginAs();
    const { factor_id } = await enrolApp(service, login);
    const { session_id: stolen } = await addSession(service, login.user_id);
    expect((await service.get('/auth/session/list?active=true', login)).body.items).toHaveLength(2);
    expect((await service.delete(`/auth/factor/${factor_id}`, login)).status).toBe(204);
    const rows = await service.rows('select ended_reason from sessions where session_id = $1', [stolen]);
    expect(rows).toEqual([{ ended_reason: 'factors_changed' }]);
    expect((await service.get('/user', login)).status).toBe(200);
  });
});
