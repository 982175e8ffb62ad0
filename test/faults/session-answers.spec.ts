import { Notifications } from '../../src/platform/database/notifications.service';
import { TestService } from '../support/in-process';
import { TcpProxy } from '../support/tcp-proxy';
import { createTestDatabase } from '../support/test-database';
import { until } from '../support/until';

const graceSeconds = 1;
const graceStart = `now() - interval '${graceSeconds} s'`;

it('measures the grace period when a refresh arrives, not when a slow database responds (S10)', async () => {
  const database = await createTestDatabase();
  const proxy = await TcpProxy.start(database.url);
  const service = await TestService.start({
    DATABASE_URL: proxy.url,
    DATABASE_DIRECT_URL: database.url,
    REFRESH_GRACE_SECONDS: String(graceSeconds),
  });
  try {
    const { name } = await service.createUser();
    const { refresh_token, session_id } = await service.login(name);
    const refresh = () => service.post('/auth/check-token', { body: { refresh_token } });
    const first = await refresh();
    const held = proxy.holdAnswerTo('previous_refresh_token_hash = refresh_token_hash');
    const second = refresh();
    await held;
    await until(
      async () =>
        (
          await service.rows(`select 1 from sessions where session_id = $1 and refreshed_at < ${graceStart}`, [
            session_id,
          ])
        ).length > 0,
    );
    proxy.release();
    const { status, body } = await second;
    expect([status, body.refresh_token]).toEqual([200, first.body.refresh_token]);
    const state = async () =>
      (await service.rows('select ended_reason from sessions where session_id = $1', [session_id]))[0];
    expect(await state()).toEqual({ ended_reason: null });
    expect((await refresh()).status).toBe(401);
    expect(await state()).toEqual({ ended_reason: 'token_reuse' });
  } finally {
    await service.close();
    await proxy.cut();
    await database.drop();
  }
});

it('responds with 429 to a reuse from a limited address only after the session has ended (S8, S16)', async () => {
  const database = await createTestDatabase();
  const proxy = await TcpProxy.start(database.url);
  const service = await TestService.start({
    DATABASE_URL: database.url,
    DATABASE_DIRECT_URL: proxy.url,
    REQUESTS_PER_ADDRESS_PER_MINUTE: '1',
  });
  try {
    const { token, refresh_token, session_id } = await service.loginAs();
    const ip = '192.0.2.1';
    const check = (body: object) => service.post('/auth/check-token', { body, ip });
    expect((await check({ token: 'none of ours' })).status).toBe(401);
    await check({ refresh_token });
    await service.rows(`update sessions set refreshed_at = refreshed_at - interval '11 s' where session_id = $1`, [
      session_id,
    ]);
    expect((await check({ token })).status).toBe(200);
    // Notifications arrive late.
    proxy.freeze();
    expect((await check({ refresh_token })).status).toBe(429);
    expect((await check({ token })).status).not.toBe(200);
  } finally {
    await proxy.restore();
    await service.close();
    await proxy.cut();
    await database.drop();
  }
});

it('responds to a login that ends another session only after that end took effect (S13, S16)', async () => {
  const database = await createTestDatabase();
  const proxy = await TcpProxy.start(database.url);
  const service = await TestService.start({
    DATABASE_URL: database.url,
    DATABASE_DIRECT_URL: proxy.url,
    SESSIONS_PER_USER_MAX: '1',
  });
  try {
    const { token, name } = await service.loginAs();
    const check = async () => (await service.post('/auth/check-token', { body: { token } })).status;
    expect(await check()).toBe(200);
    // Notifications arrive late.
    proxy.freeze();
    await service.login(name);
    expect(await check()).toBe(401);
  } finally {
    await proxy.restore();
    await service.close();
    await proxy.cut();
    await database.drop();
  }
});

it('responds at once to a rejected login, which changes nothing (L13)', async () => {
  const service = await TestService.start({ LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '1' });
  try {
    const login = () =>
      service.post('/auth/login', { body: { login: 'unknown', password: 'a wrong password' }, ip: '192.0.2.9' });
    expect((await login()).status).toBe(401);
    const waits = jest.spyOn(service.app.get(Notifications), 'caughtUp');
    expect((await login()).status).toBe(429);
    expect(waits).not.toHaveBeenCalled();
  } finally {
    await service.close();
  }
});
