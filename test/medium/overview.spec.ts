import { randomUUID } from 'node:crypto';
import { StatsService } from '../../src/stats/stats.service';
import { inSeconds } from '../support/keys';
import { addFailedMail, refreshOverview } from '../support/overview';
import { type TestLogin, TestService } from '../support/service';

interface Attention {
  kind: string;
  count: number;
  list: string;
  filter: Record<string, string>;
}

describe('the overview', () => {
  let service: TestService;
  let carrier: TestLogin;
  let limited: TestLogin;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(`insert into roles (name, user_types, permissions, second_factor_required_from) values
      ('guarded', '{carrier}', '{}', '2026-01-01'), ('mailer', '{system,carrier}', '{user:read,mail:manage}', null)`);
    for (const fields of [
      { carrier_id: 'c1' },
      { carrier_id: 'c1', roles: ['guarded'] },
      { carrier_id: 'c1', password: undefined },
      { carrier_id: 'c2' },
      { carrier_id: 'c2', password: undefined },
    ])
      await service.createUser(fields);
    const disabled = await service.createUser({ carrier_id: 'c1' });
    await service.patch(`/user/${disabled.user_id}`, { token: service.admin.token, body: { status: 'disabled' } });
    await service.delete(`/user/${(await service.createUser()).user_id}`, service.admin);
    carrier = await service.loginAs({ carrier_id: 'c1', roles: ['carrier_administrator'] });
    limited = await service.loginAs({ user_type: 'system', roles: ['administrator'], carrier_scope: ['c1'] });
  });
  afterAll(() => service.close());

  const refresh = () => refreshOverview(service);
  const read = async (login: TestLogin) => {
    const { status, body } = await service.get('/stats/overview', login);
    expect(status).toBe(200);
    return body;
  };
  /** Returns `carrier active 2` for each count. */
  const usersIn = ({ users }: { users: { user_type: string; status: string; count: number }[] }) =>
    users.map(({ user_type, status, count }) => `${user_type} ${status} ${count}`);
  const attentionIn = ({ attention }: { attention: Attention[] }) =>
    Object.fromEntries(attention.map(({ kind, count }) => [kind, count]));
  const lastHour = ({ logins }: { logins: { succeeded: number; failed: number }[] }) => logins.at(-1);

  it('counts users and sessions before the job has run, and keeps the counts until the next run', async () => {
    const first = await read(service.admin);
    expect(Math.abs(Date.parse(first.as_of as string) - Date.now())).toBeLessThan(60_000);
    const wanted = ['system active 2', 'carrier invited 2', 'carrier active 4', 'carrier disabled 1'];
    expect(usersIn(first)).toEqual(wanted);
    const live = await service.rows('select 1 from sessions where ended_at is null');
    expect(live).toHaveLength(3);
    expect(first.sessions).toBe(3);
    await service.rows(`update overview_counts set count = 50 where kind = 'disabled'`);
    expect(usersIn(await read(service.admin))).toContain('carrier disabled 50');
    await refresh();
    const again = await read(service.admin);
    expect(usersIn(again)).toEqual(wanted);
    expect(Date.parse(again.as_of)).toBeGreaterThan(Date.parse(first.as_of));
  });

  it('does not count again before the next refresh is due', async () => {
    await refresh();
    const [times] = await service.rows<{ duration: number }>(
      'select extract(epoch from due_at - as_of)::float8 as duration from overview_refreshes',
    );
    // A hundred times the duration of the count, which takes more than 1 ms.
    expect(times?.duration).toBeGreaterThan(0.1);
    await service.rows(`update overview_refreshes set due_at = now() + interval '1 minute'`);
    const { as_of, users } = await read(service.admin);
    await service.createUser({ carrier_id: 'c2', password: undefined });
    await service.app.get(StatsService).refresh();
    expect(await read(service.admin)).toMatchObject({ as_of, users });
    await refresh();
    expect((await read(service.admin)).users).not.toEqual(users);
  });

  it('counts only the carriers of the caller (Z4)', async () => {
    await refresh();
    const wanted = ['carrier invited 1', 'carrier active 3', 'carrier disabled 1'];
    for (const login of [carrier, limited]) {
      const body = await read(login);
      expect(usersIn(body)).toEqual(wanted);
      expect([body.sessions, lastHour(body)]).toEqual([1, expect.objectContaining({ succeeded: 1 })]);
      expect(body.attention[1]).toMatchObject({ kind: 'users_must_enroll', count: 1 });
    }
    const elsewhere = await service.loginAs({ carrier_id: 'c9', roles: ['carrier_administrator'] });
    expect(usersIn(await read(elsewhere))).toEqual([]);
    await refresh();
    expect(usersIn(await read(elsewhere))).toEqual(['carrier active 1']);
  });

  it('counts each login once, however often the job runs and even if the stored counts were lost', async () => {
    await refresh();
    const before = lastHour(await read(service.admin));
    await service.post('/auth/login', { body: { login: 'nobody', password: 'wrong' } });
    await service.post('/auth/login', { body: { login: 'admin@example.com', password: 'wrong' } });
    await service.login('admin@example.com');
    await Promise.all([refresh(), refresh(), refresh()]);
    const wanted = { succeeded: (before?.succeeded ?? 0) + 1, failed: (before?.failed ?? 0) + 2 };
    expect(lastHour(await read(service.admin))).toMatchObject(wanted);
    await service.rows(`update overview_refreshes set as_of = now() - interval '3 hours'`);
    await service.rows('delete from login_counts');
    await refresh();
    expect(lastHour(await read(service.admin))).toMatchObject(wanted);
  });

  it('shows 24 hours, and counts the hours in which no job ran', async () => {
    const event = (type: string, hours: number) =>
      service.rows(
        `
          insert into events (event_id, event_type, occurred_at, actor_type, target_type, carrier_id, changes)
          values (
            $1, $2, date_trunc('hour', now(), 'UTC') - $3 * interval '1 hour' + interval '1 minute', 'system',
            'login', 'c7', '{}'
          )`,
        [randomUUID(), type, hours],
      );
    await service.rows('select events_add_months()');
    for (const hours of [2, 2, 23]) await event('login.failed', hours);
    await event('login.succeeded', 23);
    await event('login.failed', 24);
    await service.rows(`update overview_refreshes set as_of = now() - interval '3 days'`);
    await service.rows('delete from login_counts');
    await refresh();
    const { logins } = await read(
      await service.loginAs({ user_type: 'system', roles: ['mailer'], carrier_scope: ['c7'] }),
    );
    const counts = logins.map(({ succeeded, failed }: Record<string, number>) => [succeeded, failed]);
    expect(counts).toHaveLength(24);
    expect([counts[0], counts[21]]).toEqual([
      [1, 1],
      [0, 2],
    ]);
    expect(logins[23].hour).toBe(`${new Date().toISOString().slice(0, 13)}:00:00.000Z`);
  });

  it('links what needs attention to lists with as many rows', async () => {
    const locked = await service.createUser({ carrier_id: 'c3' });
    await service.rows(`update users set locked_until = now() + interval '1 hour' where user_id = $1`, [
      locked.user_id,
    ]);
    for (const days of [3, 13, 15])
      await service.post('/auth/key/create', {
        token: service.admin.token,
        body: { name: `in ${days} days`, permissions: ['user:read'], expires_at: inSeconds(days * 86_400) },
      });
    await addFailedMail(service, locked.user_id);
    await refresh();
    const body = await read(service.admin);
    const wanted = { users_locked: 1, users_must_enroll: 1, api_keys_expiring: 2, mails_failed: 1 };
    expect(attentionIn(body)).toEqual(wanted);
    for (const { list, filter, count } of body.attention as Attention[]) {
      const page = await service.get(`${list}?${new URLSearchParams(filter).toString()}`, service.admin);
      expect([list, page.status, page.body.items.length]).toEqual([list, 200, count]);
    }
  });

  it('shows API keys and mails only with the permission to manage them (Z2)', async () => {
    const mailer = await service.loginAs({ carrier_id: 'c3', roles: ['mailer'] });
    await refresh();
    expect(attentionIn(await read(mailer))).toEqual({ users_locked: 1, users_must_enroll: 0, mails_failed: 1 });
    expect(Object.keys(attentionIn(await read(carrier)))).toEqual(['users_locked', 'users_must_enroll']);
    expect(attentionIn(await read(limited))).toMatchObject({ api_keys_expiring: 0, mails_failed: 0 });
  });

  it('counts the operations that have not ended and that the caller may see', async () => {
    const add = (actor_id: string, finished: boolean) =>
      service.rows(
        `
          insert into operations (operation_id, kind, permission, status, actor_type, actor_id, request, finished_at)
          values (gen_random_uuid(), 'change', 'user:update', 'waiting', 'user', $1, '{}', $2)`,
        [actor_id, finished ? new Date() : null],
      );
    await add(carrier.user_id, false);
    await add(carrier.user_id, true);
    await add(service.admin.user_id, false);
    const running = async (login: TestLogin) => (await read(login)).operations_running as number;
    expect([await running(service.admin), await running(carrier), await running(limited)]).toEqual([2, 1, 0]);
  });
});
