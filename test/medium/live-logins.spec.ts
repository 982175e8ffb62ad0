import { randomUUID } from 'node:crypto';
import { Notifications } from '../../src/platform/database/notifications.service';
import { LiveLoginsRepository } from '../../src/auth/tokens/live-logins.repository';
import { LiveLoginsService } from '../../src/auth/tokens/live-logins.service';
import { until } from '../support/until';
import { type TestLogin, TestService } from '../support/in-process';

describe('the cache of live logins', () => {
  let service: TestService;
  let logins: LiveLoginsService;
  let login: TestLogin;
  let passed = 0;
  beforeAll(async () => {
    const real = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => real() + passed);
    service = await TestService.start();
    logins = service.app.get(LiveLoginsService, { strict: false });
    login = await service.loginAs();
  });
  afterAll(async () => {
    await service.close();
    jest.restoreAllMocks();
  });

  /** Advances the monotonic clock of this process, after all notifications have arrived. */
  const pass = async (ms: number) => {
    passed += ms;
    await until(() => Promise.resolve(service.app.get(Notifications).isCurrent));
  };
  const known = ({ session_id, user_id }: TestLogin) => logins.cached(session_id, user_id) !== null;

  it('reads a login again after a minute, so that an unannounced change is never older', async () => {
    await logins.read(login.session_id, login.user_id);
    await pass(55_000);
    expect(known(login)).toBe(true);
    await pass(5_000);
    expect(known(login)).toBe(false);
    const reads = jest.spyOn(service.app.get(LiveLoginsRepository, { strict: false }), 'find');
    expect((await service.get('/user', login)).status).toBe(200);
    expect(reads).toHaveBeenCalledTimes(1);
  });

  it('keeps no login beyond the end of its session', async () => {
    await service.rows(`update sessions set expires_at = now() + interval '20 s' where session_id = $1`, [
      login.session_id,
    ]);
    await logins.read(login.session_id, login.user_id);
    await pass(15_000);
    expect(known(login)).toBe(true);
    await pass(5_000);
    expect(known(login)).toBe(false);
  });

  it('keeps no login beyond the next time from which a role or the user needs a second factor', async () => {
    await service.rows(
      `update roles set second_factor_required_from = now() + interval '20 s' where name = 'operator'`,
    );
    const users = [
      await service.loginAs({ user_type: 'system', roles: ['operator'] }),
      await service.loginAs({ second_factor_required_from: new Date(Date.now() + 20_000).toISOString() }),
    ];
    for (const user of users) await logins.read(user.session_id, user.user_id);
    await pass(15_000);
    expect(users.map(known)).toEqual([true, true]);
    await pass(5_000);
    expect(users.map(known)).toEqual([false, false]);
  });

  it('keeps the 20,000 most recent logins', async () => {
    const { session_id, user_id } = await service.loginAs();
    const repository = service.app.get(LiveLoginsRepository, { strict: false });
    const record = await repository.find(session_id, user_id);
    // In the form of a database row, without a real login.
    const find = jest
      .spyOn(repository, 'find')
      .mockImplementation((id) => Promise.resolve(record && { ...record, session_id: id }));
    const made = Array.from({ length: 20_001 }, () => ({ ...login, session_id: randomUUID(), user_id }));
    const [first, second, last] = [made[0], made[1], made.at(-1)] as [TestLogin, TestLogin, TestLogin];
    for (const each of made) await logins.read(each.session_id, user_id);
    find.mockRestore();
    // Time has passed without a check for missed notifications.
    await pass(0);
    expect([known(first), known(second), known(last)]).toEqual([false, true, true]);
    // A notification removes every login from memory.
    await service.rows(`update sessions set ended_at = now(), ended_reason = 'revoked' where session_id = $1`, [
      session_id,
    ]);
    expect(made.filter(known)).toEqual([]);
  });
});
