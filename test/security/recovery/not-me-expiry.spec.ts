import { password, TestService } from '../../support/service';

describe('the expiry of links that undo changes', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  it('is 24 hours after the last change, and at most 48 hours after the first change (R26)', async () => {
    const user = await service.loginAs({ roles: ['carrier_user'] });
    let secret = password;
    let count = 0;
    const change = async () => {
      const body = { current_password: secret, new_password: `phrase ${++count} of the thief` };
      expect((await service.post('/auth/password', { token: user.token, body })).status).toBe(204);
      secret = body.new_password;
      const { token: link } = await service.mailbox.take(user.email, /Subject: Your password was changed/);
      const { expires_at } = (await service.get(`/auth/reset/${link}`)).body;
      return { link, hours: Math.round((new Date(expires_at).getTime() - Date.now()) / 3_600_000) };
    };
    const pass = (hours: number) =>
      service.rows(
        `
          update one_time_tokens
          set requested_at = requested_at - $1 * interval '1 hour', expires_at = expires_at - $1 * interval '1 hour'`,
        [hours],
      );
    const first = await change();
    const hours = [first.hours];
    for (const passed of [20, 20, 6]) {
      await pass(passed);
      const later = await change();
      expect(later.link).toBe(first.link);
      hours.push(later.hours);
    }
    expect(hours).toEqual([24, 24, 8, 2]);
    await pass(2);
    expect((await service.get(`/auth/reset/${first.link}`)).status).toBe(404);
    const next = await change();
    expect([next.link === first.link, next.hours]).toEqual([false, 24]);
  });
});
