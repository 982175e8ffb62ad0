import { Client } from 'pg';
import startServer from '../support/global-setup';
import stopServer from '../support/global-teardown';
import { createKey, inSeconds } from '../support/data/keys';
import { type TestAnswer, type TestLogin, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { TcpProxy } from '../support/network/tcp-proxy';
import { until } from '../support/until';

type Caller = Pick<TestLogin, 'token'>;

/** Longer than any test waits. */
const wait = 'wait=30';
const poolMax = 8;

describe('a request that waits for a change', () => {
  let service: TestService;
  let admin: TestLogin;
  let open: Client;
  beforeAll(async () => {
    // A server of its own: transactions of other tests would hold the feed back.
    await startServer();
    service = await TestService.start({ DATABASE_POOL_MAX: String(poolMax), ACCESS_TOKEN_TTL_SECONDS: '600' });
    admin = service.admin;
  });
  beforeEach(async () => {
    open = new Client({ connectionString: service.config.DATABASE_URL });
    await open.connect();
  });
  afterEach(() => open.end());
  afterAll(async () => {
    await service.close();
    await stopServer();
  });

  const list = (query: string, { token }: Caller = admin, at: ServiceProcess = service) =>
    at.get(`/change/list?${query}`, { token });

  /** Returns the cursor after all changes up to now. */
  async function now(): Promise<string> {
    let after = '';
    for (;;) {
      const { body } = await list(`per_page=1000${after}`);
      after = `&after=${String(body.next_cursor)}`;
      if ((body.items as unknown[]).length === 0) return body.next_cursor as string;
    }
  }

  /** Waits until a number of requests wait. */
  const waiting = (count: number, at: ServiceProcess = service) =>
    until(async () => (await at.inside<{ count: () => number }>('ChangeWaits').count()) === count);

  const namesIn = ({ body }: TestAnswer) =>
    (body.items as { type: string; carrier_id: string }[]).map(({ type, carrier_id }) => `${type} ${carrier_id}`);

  it('gets the first change that it matches, without a connection for each request', async () => {
    const after = await now();
    const { key } = await createKey(service, ['change:read'], { carrier_scope: ['waited'] });
    const matching = ['type=user.created&carrier_id=waited', 'carrier_id_in=other,waited', 'target_type_in=user,role'];
    const waits = Array.from({ length: 100 }, (_, i) =>
      i % 4 === 3
        ? list(`after=${after}&${wait}&target_type=user`, { token: key })
        : list(`after=${after}&${wait}&${String(matching[i % 4])}&type_in=user.created,user.deleted`),
    );
    const other = list(`after=${after}&wait=5&carrier_id=not_waited`);
    await waiting(101);
    const [{ count = 0 } = {}] = await service.rows<{ count: number }>(
      `select count(*)::integer as count from pg_stat_activity where application_name like 'carrier-identity%'`,
    );
    expect(count).toBeLessThanOrEqual(poolMax + 10);
    await service.createUser({ carrier_id: 'waited' });
    for (const answer of await Promise.all(waits)) expect(namesIn(answer)).toEqual(['user.created waited']);
    await waiting(1);
    expect((await other).body.items).toEqual([]);
  });

  it('gets a change that was committed before the request, and continues after it', async () => {
    const after = await now();
    await service.createUser({ carrier_id: 'earlier' });
    const first = await list(`after=${after}&${wait}&carrier_id=earlier`);
    expect(namesIn(first)).toEqual(['user.created earlier']);
    const next = list(`after=${String(first.body.next_cursor)}&${wait}&carrier_id=earlier`);
    await waiting(1);
    await service.createUser({ carrier_id: 'earlier' });
    expect(namesIn(await next)).toEqual(['user.created earlier']);
  });

  it('shows the user as it is now with include=values', async () => {
    const query = `after=${await now()}&${wait}&carrier_id=valued&include=values`;
    const waits = [list(query), list(query)];
    await waiting(2);
    const { name } = await service.createUser({ carrier_id: 'valued' });
    for (const { body } of await Promise.all(waits)) expect(body.items).toMatchObject([{ values: { name } }]);
  });

  it('wakes when an open transaction ends, and reports the age of the held change until then', async () => {
    const query = `after=${await now()}&carrier_id=held_wait`;
    await open.query('begin; select pg_current_xact_id()');
    await service.createUser({ carrier_id: 'held_wait' });
    await until(async () => (await list(query)).body.behind_seconds > 1);
    const { body: empty } = await list(`${query}&wait=1`);
    expect(empty.items).toEqual([]);
    expect(empty.behind_seconds).toBeGreaterThanOrEqual(2);
    const held = list(`${query}&${wait}`);
    await waiting(1);
    await open.query('rollback');
    const answer = await held;
    expect(namesIn(answer)).toEqual(['user.created held_wait']);
    expect(answer.body.behind_seconds).toBe(0);
  });

  it('shows no change to a caller whose rights were revoked meanwhile (C1)', async () => {
    const role = { name: 'waiter', user_types: ['carrier'], permissions: ['change:read'] };
    await service.post('/role/create', { ...admin, body: role });
    const reader = () => service.loginAs({ carrier_id: 'revoked', roles: ['waiter'] });
    const scoped = await service.createUser({
      ...{ user_type: 'system', roles: ['administrator'], carrier_scope: ['revoked'] },
    });
    const [ended, disabled, demoted, narrowed, key] = [
      await reader(),
      await reader(),
      await reader(),
      await service.login(scoped.name),
      await createKey(service, ['change:read']),
    ];
    const patch = (user_id: string, body: object) => service.patch(`/user/${user_id}`, { ...admin, body });
    const cases: [Caller, number, () => Promise<TestAnswer>][] = [
      [ended, 401, () => service.delete(`/auth/session/${ended.session_id}`, admin)],
      [disabled, 401, () => patch(disabled.user_id, { status: 'disabled' })],
      [demoted, 403, () => patch(demoted.user_id, { roles: [] })],
      [narrowed, 200, () => patch(narrowed.user_id, { carrier_scope: [] })],
      [{ token: key.key }, 401, () => service.delete(`/auth/key/${key.key_id}`, admin)],
    ];
    for (const [caller, status, revoke] of cases) {
      const answer = list(`after=${await now()}&${wait}&type=user.created`, caller);
      await waiting(1);
      expect((await revoke()).status).toBeLessThan(300);
      await service.createUser({ carrier_id: 'revoked' });
      expect([(await answer).status, (await answer).body.items ?? []]).toEqual([status, []]);
    }
  });

  it('shows no change to a revoked caller while the listening connection hangs (C1)', async () => {
    const proxy = await TcpProxy.start(service.config.DATABASE_URL);
    const other = await ServiceProcess.beside(service, { DATABASE_DIRECT_URL: proxy.url });
    const { key, key_id } = await createKey(service, ['change:read']);
    const query = `after=${await now()}&${wait}&type=user.created`;
    const answers = [list(query, { token: key }, other), list(query, admin, other)];
    await waiting(2, other);
    proxy.freeze();
    await service.delete(`/auth/key/${key_id}`, admin);
    await service.createUser({ carrier_id: 'hanging' });
    await service.createUser({ carrier_id: 'hanging' });
    expect(await other.inside<{ count: () => number }>('ChangeWaits').count()).toBe(2);
    await proxy.restore();
    const [revoked, allowed] = await Promise.all(answers);
    expect(revoked!.status).toBe(401);
    expect(namesIn(allowed!)[0]).toBe('user.created hanging');
    await other.stop();
    await proxy.cut();
  });

  it('shows no change to a caller whose API key expired meanwhile (C1)', async () => {
    const { key } = await createKey(service, ['change:read'], { expires_at: inSeconds(2) });
    const answer = list(`after=${await now()}&${wait}&type=user.created`, { token: key });
    await waiting(1);
    await until(async () => (await list('per_page=1', { token: key })).status === 401);
    await service.createUser();
    expect((await answer).status).toBe(401);
  });

  it('gets the changes of a scope that grew while it waited', async () => {
    const scoped = await service.createUser({
      ...{ user_type: 'system', roles: ['administrator'], carrier_scope: ['small'] },
    });
    const login = await service.login(scoped.name);
    const answer = list(`after=${await now()}&wait=2&type=user.created`, login);
    await waiting(1);
    const body = { carrier_scope: ['small', 'large'] };
    expect((await service.patch(`/user/${scoped.user_id}`, { ...admin, body })).status).toBe(200);
    await service.createUser({ carrier_id: 'large' });
    expect(namesIn(await answer)).toEqual(['user.created large']);
  });

  it('rejects the cursor of another server', async () => {
    const place = { tx: '999999999999', event_id: '00000000-0000-0000-0000-000000000000', at: new Date() };
    const after = await service.inside<{ encode: (at: object) => string }>('ChangeCursors').encode(place);
    expect((await list(`after=${after}&${wait}`)).body.code).toBe('change.cursor_expired');
  });

  it('limits the waiting requests of an API key, and leaves capacity for others (D30)', async () => {
    const { key } = await createKey(service, ['change:read']);
    const query = `after=${await now()}&${wait}&type=user.deleted`;
    const waits = Array.from({ length: 500 }, () => list(query, { token: key }));
    await waiting(500);
    const refused = await list(query, { token: key });
    expect([refused.status, refused.body.code, refused.headers['retry-after']]).toEqual([
      429,
      'request.rate_limited',
      '5',
    ]);
    waits.push(list(query));
    await waiting(501);
    const { user_id } = await service.createUser();
    await service.delete(`/user/${user_id}`, admin);
    for (const { body } of await Promise.all(waits)) expect(body.items).toMatchObject([{ target_id: user_id }]);
    expect((await list(`after=${await now()}&wait=1`, { token: key })).status).toBe(200);
  });

  it('responds to other requests during a burst of changes, and misses no change (D30)', async () => {
    const { key } = await createKey(service, ['change:read']);
    const after = await now();
    const carriers = Array.from({ length: 499 }, (_, i) => `c${i}`).join();
    const query = `per_page=1000&carrier_id_in=burst,${carriers}`;
    const waits = Array.from({ length: 400 }, () => list(`after=${after}&${wait}&${query}`, { token: key }));
    await waiting(400);
    await service.sql.query(`
      insert into events (event_type, actor_type, target_type, target_id, carrier_id)
      select 'user.changed', 'system', 'user', uuid_v7(), 'burst'
      from generate_series(1, 5000)`);
    let longest = 0;
    let done = false;
    const pages = Promise.all(waits).finally(() => (done = true));
    while (!done) {
      const since = performance.now();
      await service.get('/health/live');
      longest = Math.max(longest, performance.now() - since);
    }
    expect(longest).toBeLessThan(3_000);
    for (const { body } of await pages) expect(body.items).toHaveLength(100);
    const [first] = await pages;
    let page = first!.body;
    const read = [...(page.items as { change_id: string }[])];
    while ((page.items as unknown[]).length > 0) {
      page = (await list(`after=${String(page.next_cursor)}&${query}`, { token: key })).body;
      read.push(...(page.items as { change_id: string }[]));
    }
    expect(new Set(read.map(({ change_id }) => change_id)).size).toBe(5_000);
    expect(read).toHaveLength(5_000);
  });

  it('gets an empty page with its cursor when the service stops', async () => {
    const other = await ServiceProcess.beside(service);
    const after = await now();
    const answer = list(`after=${after}&${wait}&type=role.deleted`, admin, other);
    await waiting(1, other);
    // A request that still waits is cut off, instead of getting a response.
    expect(await other.stop()).toBe(0);
    expect([(await answer).status, (await answer).body.items]).toEqual([200, []]);
    expect((await list(`after=${String((await answer).body.next_cursor)}`)).status).toBe(200);
  });
});
