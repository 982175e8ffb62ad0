import { randomUUID } from 'node:crypto';
import type { StatsService } from '../../src/stats/stats.service';
import { inSeconds } from '../support/data/keys';
import type { ServiceHealthResponse } from '../../src/stats/service-health.dto';
import type { ServiceHealthService } from '../../src/stats/service-health.service';
import { addFailedMail, addJob, addMail, addWebhook, refreshOverview } from '../support/data/overview';
import { type TestLogin, TestService } from '../support/service';
import { until } from '../support/until';

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
    // The job may have run while the users were created.
    await service.rows('delete from overview_refreshes');
    const first = await read(service.admin);
    const wanted = ['system active 2', 'carrier invited 2', 'carrier active 4', 'carrier disabled 1'];
    expect(usersIn(first)).toEqual(wanted);
    expect(await service.rows('select 1 from sessions where ended_at is null')).toHaveLength(3);
    expect(first.sessions).toBe(3);
    await service.rows(`update overview_counts set count = 50 where kind = 'disabled'`);
    expect(usersIn(await read(service.admin))).toContain('carrier disabled 50');
    await refresh();
    const again = await read(service.admin);
    expect(usersIn(again)).toEqual(wanted);
    expect(Date.parse(again.as_of)).toBeGreaterThan(Date.parse(first.as_of));
    await service.rows(`update overview_refreshes set as_of = as_of - interval '2 hours'`);
    const old = await read(service.admin);
    expect(old.age_seconds - again.age_seconds).toBeGreaterThanOrEqual(7_200);
  });

  it('does not count again before the next refresh is due', async () => {
    await refresh();
    expect(await service.rows('select 1 from overview_refreshes where due_at > as_of')).toHaveLength(1);
    await service.rows(`update overview_refreshes set due_at = now() + interval '1 hour'`);
    const { as_of, users } = await read(service.admin);
    await service.createUser({ carrier_id: 'c2', password: undefined });
    await service.inside<StatsService>('StatsService').refresh();
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
      expect([body.sessions, lastHour(body)]).toEqual([1, expect.objectContaining({ failed: 0 })]);
      expect(body.attention[1]).toMatchObject({ kind: 'users_must_enroll', count: 1 });
    }
    const elsewhere = await service.loginAs({ carrier_id: 'c9', roles: ['carrier_administrator'] });
    expect(usersIn(await read(elsewhere))).toEqual([]);
    await refresh();
    expect(usersIn(await read(elsewhere))).toEqual(['carrier active 1']);
  });

  it('counts each login once, however often the job runs and even if the stored counts were lost', async () => {
    /** Sums over all hours: a new hour may begin at any time. */
    const counted = async () => {
      const { logins } = (await read(service.admin)) as { logins: { succeeded: number; failed: number }[] };
      const sum = (key: 'succeeded' | 'failed') => logins.reduce((total, hour) => total + hour[key], 0);
      return [sum('succeeded'), sum('failed')];
    };
    await refresh();
    const [succeeded = 0, failed = 0] = await counted();
    await service.post('/auth/login', { body: { login: 'nobody', password: 'wrong' } });
    await service.post('/auth/login', { body: { login: 'admin@example.com', password: 'wrong' } });
    await service.login('admin@example.com');
    await Promise.all([refresh(), refresh(), refresh()]);
    expect(await counted()).toEqual([succeeded + 1, failed + 2]);
    await service.rows(`update overview_refreshes set as_of = now() - interval '3 hours'`);
    await service.rows('delete from login_counts');
    await refresh();
    expect(await counted()).toEqual([succeeded + 1, failed + 2]);
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
    for (const hours of [2, 2, 22]) await event('login.failed', hours);
    await event('login.succeeded', 22);
    await event('login.failed', 25);
    await service.rows(`update overview_refreshes set as_of = now() - interval '3 days'`);
    await service.rows('delete from login_counts');
    await refresh();
    const reader = await service.loginAs({ user_type: 'system', roles: ['mailer'], carrier_scope: ['c7'] });
    const { logins } = (await read(reader)) as { logins: { hour: string; succeeded: number; failed: number }[] };
    expect(logins).toHaveLength(24);
    const counts = logins.map((one) => `${one.succeeded} ${one.failed}`).filter((count) => count !== '0 0');
    expect(counts).toEqual(['1 1', '0 2']);
    const hours = logins.map(({ hour }) => Date.parse(hour) / 3_600_000);
    expect(hours).toEqual(Array.from({ length: 24 }, (_, index) => (hours[0] ?? 0) + index));
  });

  it('links what needs attention to lists with as many rows', async () => {
    const { user_id } = await service.createUser({ carrier_id: 'c3' });
    await service.rows(`update users set locked_until = now() + interval '1 hour' where user_id = $1`, [user_id]);
    for (const days of [3, 13, 15])
      await service.post('/auth/key/create', {
        token: service.admin.token,
        body: { name: `in ${days} days`, permissions: ['user:read'], expires_at: inSeconds(days * 86_400) },
      });
    await addFailedMail(service, user_id);
    await addMail(service, user_id, { attempts: 2, last_error: 'mail server: 451 try later' });
    await addMail(service, user_id, { attempts: 1, last_error: 'mail server: 550 no such user' });
    await addMail(service, user_id, { attempts: 1, last_error: 'mail server: 451 try later' });
    for (const disabled_reason of [null, 'failed', 'requested']) await addWebhook(service, { disabled_reason });
    await addWebhook(service, { state: 'failing' });
    await refresh();
    const body = await read(service.admin);
    const users = { users_locked: 1, users_must_enroll: 1 };
    const mails = { mails_failed: 1, mails_failing: 2 };
    const webhooks = { webhooks_disabled: 1, webhooks_failing: 1 };
    expect(attentionIn(body)).toEqual({ ...users, api_keys_expiring: 2, ...mails, ...webhooks, attack: 0 });
    for (const { kind, list, filter, count } of body.attention as Attention[]) {
      if (kind === 'attack') continue;
      const page = await service.get(`${list}?${new URLSearchParams(filter).toString()}`, service.admin);
      expect([list, page.status, page.body.items.length]).toEqual([list, 200, count]);
    }
  });

  it('shows API keys, mails and webhooks only with the permission to manage them, and in scope (Z2, Z4)', async () => {
    const mailer = await service.loginAs({ carrier_id: 'c3', roles: ['mailer'] });
    await refresh();
    expect(attentionIn(await read(mailer))).toEqual({
      ...{ users_locked: 1, users_must_enroll: 0, mails_failed: 1, mails_failing: 2 },
    });
    expect(Object.keys(attentionIn(await read(carrier)))).toEqual(['users_locked', 'users_must_enroll']);
    const none = { mails_failed: 0, mails_failing: 0, webhooks_disabled: 0, webhooks_failing: 0 };
    expect(attentionIn(await read(limited))).toMatchObject({ api_keys_expiring: 0, ...none });
  });

  describe('the health of the service', () => {
    const measure = async (login = service.admin) => {
      await service.inside<ServiceHealthService>('ServiceHealthService').measure();
      return (await read(login)).health as Required<ServiceHealthResponse>;
    };
    beforeEach(async () => {
      await service.rows('delete from graphile_worker._private_jobs');
      await service.rows('delete from webhooks');
      await refresh();
    });

    it('is ok while all parts work, and has no disk unless the service runs the database', async () => {
      const { database, ...parts } = await measure();
      expect(parts).toEqual({
        mail: { state: 'ok', waiting: 0, failing: 0, failed: 0, oldest_seconds: 0 },
        jobs: { state: 'ok', overdue: 0, failed: 0, oldest_seconds: 0 },
        webhooks: { state: 'ok', disabled: 0, failing: 0, behind_seconds: 0 },
      });
      expect(database).toMatchObject({ state: 'ok', connections_max: expect.any(Number) });
      expect(database.size_bytes).toBeGreaterThan(1_000_000);
      expect(database.connections).toBeGreaterThan(1);
    });

    it('is measured at most once a minute', async () => {
      await measure();
      await addJob(service, 'unknown', { attempts: 25 });
      expect((await read(service.admin)).health).toMatchObject({ jobs: { failed: 0 } });
      expect(await measure()).toMatchObject({ jobs: { failed: 1 } });
    });

    it.each([
      ['warning', { attempts: 2, last_error: 'mail server: 451 try later' }, { waiting: 1, failing: 1 }],
      ['warning', { attempts: 1, last_error: 'mail server: 550 no such user' }, { waiting: 1, failing: 1 }],
      ['warning', { attempts: 25, last_error: 'mail server: not reachable' }, { waiting: 0, failed: 1 }],
      ['critical', { attempts: 1, last_error: 'mail server: not reachable' }, { waiting: 1, failing: 0 }],
      ['critical', { attempts: 1, last_error: 'mail server: the login was rejected' }, { waiting: 1 }],
      ['ok', { attempts: 1, last_error: 'mail server: 451 try later' }, { waiting: 1, failing: 0 }],
      ['ok', { attempts: 0, last_error: null }, { waiting: 1, oldest_seconds: expect.any(Number) }],
    ] as const)('shows mail as %s after %j', async (state, job, wanted) => {
      await addMail(service, (await service.createUser()).user_id, job);
      expect((await measure()).mail).toMatchObject({ state, ...wanted });
    });

    it.each([
      ['critical', { due: '11 minutes' }, { overdue: 1, failed: 0 }],
      ['critical', { due: '0 minutes', locked: '11 minutes' }, { overdue: 1, failed: 0 }],
      ['ok', { due: '9 minutes' }, { overdue: 0, oldest_seconds: 0 }],
      ['ok', { due: '-1 hour', attempts: 3 }, { overdue: 0, failed: 0 }],
      ['warning', { due: '1 day', attempts: 25 }, { overdue: 0, failed: 1 }],
    ] as const)('shows jobs as %s if one is %j', async (state, job, wanted) => {
      await addJob(service, 'unknown', job);
      const { jobs } = await measure();
      expect(jobs).toMatchObject({ state, ...wanted });
      if (state === 'critical') expect(jobs.oldest_seconds).toBeGreaterThanOrEqual(660);
    });

    it('shows jobs as critical if no instance runs jobs, so that nothing counts the overview', async () => {
      const age = `update overview_refreshes set as_of = now() - $1::interval, due_at = now() - interval '1 hour'`;
      await service.rows(age, ['10 minutes']);
      expect((await measure()).jobs.state).toBe('ok');
      // Repeated, because the job of the service may count at any moment.
      await until(async () => {
        await service.rows(age, ['12 minutes']);
        return (await measure()).jobs.overdue === 1;
      });
    });

    it('shows webhooks by their worst state, and not those that a user disabled', async () => {
      await addWebhook(service, { disabled_reason: 'requested' });
      expect((await measure()).webhooks).toMatchObject({ state: 'ok', disabled: 0, behind_seconds: 0 });
      await addWebhook(service, { state: 'failing' });
      expect((await measure()).webhooks).toMatchObject({ state: 'warning', failing: 1, disabled: 0 });
      await addWebhook(service, { disabled_reason: 'gone' });
      expect((await measure()).webhooks).toMatchObject({ state: 'critical', failing: 1, disabled: 1 });
    });

    it('shows webhooks as a warning if changes wait for more than 10 minutes', async () => {
      await addWebhook(service, {});
      await service.rows(`
        insert into events (event_id, event_type, occurred_at, actor_type, target_type, changes)
        values (uuid_v7(), 'user.changed', now() - interval '11 minutes', 'system', 'user', '{}')`);
      const { state, behind_seconds } = (await measure()).webhooks;
      expect([state, behind_seconds >= 660]).toEqual(['warning', true]);
    });

    it('is for System Users without a carrier scope only, with the permission of each part (Z2, Z4)', async () => {
      const auditor = await service.loginAs({ user_type: 'system', roles: ['auditor'] });
      expect(Object.keys(await measure(auditor)).sort()).toEqual(['database', 'jobs']);
      for (const login of [limited, carrier]) expect(await read(login)).not.toHaveProperty('health');
    });
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

  describe('the list of carriers', () => {
    interface Carrier {
      carrier_id: string;
      users: { total: number; invited: number; active: number; disabled: number };
    }
    const mine = 'carrier_id_in=alfa,bravo,charlie,delta,gone';
    let reader: TestLogin;
    beforeAll(async () => {
      for (const carrier_id of ['alfa', 'bravo', 'bravo', 'charlie', 'delta'])
        await service.createUser({ carrier_id, password: undefined });
      await service.createUser({ carrier_id: 'bravo' });
      const { user_id } = await service.createUser({ carrier_id: 'bravo' });
      await service.patch(`/user/${user_id}`, { token: service.admin.token, body: { status: 'disabled' } });
      for (const carrier_id of ['bravo', 'gone'])
        await service.delete(`/user/${(await service.createUser({ carrier_id })).user_id}`, service.admin);
      reader = await service.loginAs({ user_type: 'system', roles: ['auditor'] });
    });

    const list = async (query = '', login = reader) => {
      const { status, body } = await service.get(`/carrier/list?${query}`, login);
      expect([query, status]).toEqual([query, 200]);
      return body as unknown as { items: Carrier[]; next_cursor: string | null; total: object | null };
    };
    const idsOf = async (query: string, login = reader) =>
      (await list(query, login)).items.map(({ carrier_id }) => carrier_id).join(' ');

    it('counts the users of each carrier by status, without deleted users', async () => {
      const one = { total: 1, invited: 1, active: 0, disabled: 0 };
      expect(await list(mine)).toEqual({
        items: [
          { carrier_id: 'alfa', users: one },
          { carrier_id: 'bravo', users: { total: 4, invited: 2, active: 1, disabled: 1 } },
          { carrier_id: 'charlie', users: one },
          { carrier_id: 'delta', users: one },
        ],
        per_page: 50,
        next_cursor: null,
        total: { value: 4, relation: 'eq' },
      });
    });

    it('filters by the id', async () => {
      for (const [query, ids] of [
        ['carrier_id=gone', ''],
        ['carrier_id_in=delta,gone,alfa', 'alfa delta'],
        [`carrier_id_ne=bravo&${mine}`, 'alfa charlie delta'],
        ['carrier_id_like=ELT', 'delta'],
        ['carrier_id_like=fa_', ''],
      ] as const)
        expect([query, await idsOf(query)]).toEqual([query, ids]);
    });

    it.each(['asc', 'desc'])('shows each carrier once over all pages, %s, by cursor and by number', async (order) => {
      const query = `order_dir=${order}&per_page=1&carrier_id_in=alfa,bravo,delta`;
      const seen: string[] = [];
      for (let cursor: string | null = ''; cursor !== null && seen.length < 5;) {
        const page = await list(`${query}${cursor === '' ? '' : `&cursor=${cursor}`}`);
        expect(page.total).toEqual({ value: 3, relation: 'eq' });
        seen.push(...page.items.map(({ carrier_id }) => carrier_id));
        cursor = page.next_cursor;
      }
      expect(seen).toEqual(order === 'asc' ? ['alfa', 'bravo', 'delta'] : ['delta', 'bravo', 'alfa']);
      expect(await idsOf(`${query}&page=2`)).toBe('bravo');
      expect((await list(`${query}&count=none`)).total).toBeNull();
    });

    it('shows only the carriers within the scope (Z4)', async () => {
      const carrier_scope = ['bravo', 'delta', 'gone'];
      const within = await service.loginAs({ user_type: 'system', roles: ['auditor'], carrier_scope });
      expect(await idsOf('', within)).toBe('bravo delta');
      expect(await idsOf('carrier_id_in=alfa,delta', within)).toBe('delta');
      expect(await idsOf('carrier_id=alfa', within)).toBe('');
      const own = await service.loginAs({ carrier_id: 'charlie', roles: ['carrier_administrator'] });
      const page = await list('', own);
      expect(page.items).toEqual([{ carrier_id: 'charlie', users: { total: 2, invited: 1, active: 1, disabled: 0 } }]);
      expect(page.total).toEqual({ value: 1, relation: 'eq' });
      expect(await idsOf('carrier_id_ne=charlie', own)).toBe('');
    });

    it('rejects a caller without user:read before an invalid query, and a cursor of another caller', async () => {
      const member = await service.loginAs({ carrier_id: 'alfa', roles: ['carrier_user'] });
      expect((await service.get('/carrier/list?order_by=name', member)).body.code).toBe('access.denied');
      expect((await service.get('/carrier/list?order_by=name')).status).toBe(401);
      const { body } = await service.get('/carrier/list?carrier_id_isnull=true&order_by=name&per_page=0', reader);
      expect(body.errors.map(({ parameter }: { parameter: string }) => parameter)).toEqual([
        ...['carrier_id_isnull', 'order_by', 'per_page'],
      ]);
      const { next_cursor } = await list('per_page=1', service.admin);
      const answer = await service.get(`/carrier/list?per_page=1&cursor=${next_cursor}`, reader);
      expect(answer.body.code).toBe('page.cursor_invalid');
    });
  });
});
