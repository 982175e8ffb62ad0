import { password, TestService } from '../../support/service';
import { until } from '../../support/until';

describe('a queued reset request', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const waiting = (key: string) => service.rows('select 1 from graphile_worker.jobs where key = $1', [key]);

  it('mails no link after another password has been set (R12)', async () => {
    const user = await service.loginAs({ roles: ['carrier_user'] });
    service.mailbox.rejects = true;
    expect((await service.post('/auth/reset_email', { body: { email: user.email } })).status).toBe(202);
    await until(async () => (await waiting(`reset:${user.user_id}`)).length > 0);
    await service.rows(
      `
        update graphile_worker._private_jobs
        set run_at = now() + interval '1 hour', locked_at = null, locked_by = null
        where key = $1`,
      [`reset:${user.user_id}`],
    );
    const body = { current_password: password, new_password: 'another quiet river, quite long' };
    expect((await service.post('/auth/password', { token: user.token, body })).status).toBe(204);
    expect(await waiting(`reset:${user.user_id}`)).toEqual([]);
    const links = await service.rows(
      'select token_hash from one_time_tokens where user_id = $1 and token_hash is not null',
      [user.user_id],
    );
    expect(links).toEqual([]);
  });
});
