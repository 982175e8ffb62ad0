import { Client } from 'pg';
import { createKey } from '../support/data/keys';
import { parseScrape, valuesOf } from '../support/metrics';
import { ReplicatedPostgres } from '../support/process/replicated-postgres';
import { adminEmail, appSecret, password, type TestLogin, type TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { workerPids } from '../support/process/shutdown';
import { TcpProxy } from '../support/network/tcp-proxy';
import { until } from '../support/until';

const metricsToken = 'metrics-0123456789-abcdefghijklmnopq';
const settings = {
  ...{ APP_SECRET: appSecret, METRICS_TOKEN: metricsToken },
  ...{ LOGIN_ATTEMPTS_PER_ADDRESS_PER_MINUTE: '0', REQUESTS_PER_ADDRESS_PER_MINUTE: '0' },
};

describe('reads from a replica', () => {
  let servers: ReplicatedPostgres;
  let proxy: TcpProxy;
  /** accepts any lag */
  let service: ServiceProcess;
  /** accepts the usual lag, and reads the same standby directly */
  let other: ServiceProcess;
  let admin: TestLogin;
  /** an API key, which has written nothing */
  let reader: { token: string };
  beforeAll(async () => {
    servers = await ReplicatedPostgres.start();
    proxy = await TcpProxy.start(servers.standby);
    const urls = { DATABASE_URL: servers.primary, DATABASE_REPLICA_URL: proxy.url, REPLICA_LAG_MAX_MS: '60000' };
    const first = { ADMIN_EMAIL: adminEmail, ADMIN_PASSWORD: password };
    service = await ServiceProcess.start({ ...settings, ...urls, ...first });
    const usual = { DATABASE_URL: servers.primary, DATABASE_REPLICA_URL: servers.standby };
    other = await ServiceProcess.start({ ...settings, ...usual });
    admin = await service.login(adminEmail);
    service.admin = admin;
    const permissions = ['user:read', 'user:export', 'audit:read', 'change:read', 'user:update'];
    const key = await createKey(
      Object.assign(service, { config: { BASE_PATH: '' } }) as never as TestService,
      permissions,
    );
    reader = { token: key.key };
  });
  afterEach(async () => {
    await proxy.restore();
    await servers.onStandby('select pg_wal_replay_resume() where pg_is_in_recovery()');
  });
  afterAll(async () => {
    await Promise.all([service.kill(), other.kill()]);
    await proxy.cut();
    await servers.stop();
  });

  /** Returns the number of reads by server and reason. */
  const counted = async (instance = service) => {
    const { text } = await instance.get('/metrics', { headers: { authorization: `Bearer ${metricsToken}` } });
    const values = valuesOf(parseScrape(text), 'carrier_identity_reads_total');
    const lag = valuesOf(parseScrape(text), 'carrier_identity_replica_lag_seconds')[''] as number;
    const of = (server: string, reason = '') => values[`{server="${server}",reason="${reason}"}`] ?? 0;
    return { lag, replica: of('replica'), lagging: of('primary', 'lag'), faults: of('primary', 'fault') };
  };
  /** Waits until an instance reads the standby for the key. */
  const isRead = (instance = service) =>
    until(async () => {
      const before = await counted(instance);
      await instance.get('/user/list?per_page=1', reader);
      const { replica, faults } = await counted(instance);
      return replica > before.replica && faults === before.faults;
    });
  const pause = async () => {
    await isRead();
    await servers.onStandby('select pg_wal_replay_pause()');
    await until(async () => {
      const [row] = await servers.onStandby('select pg_get_wal_replay_pause_state() as state');
      return row?.['state'] === 'paused';
    });
  };
  let numbers = 0;
  /** Inserts a user on the primary, as another instance would. */
  const insert = async (count = 1, prefix = `inserted${++numbers}-`): Promise<string> => {
    await servers.onPrimary(`
      insert into users (user_id, user_type, name, email, carrier_id, roles, status)
      select uuid_v7(), 'carrier', '${prefix}' || n, '${prefix}' || n || '@example.com', '${prefix}', '{}', 'active'
      from generate_series(1, ${count}) n`);
    return prefix;
  };

  it('serves lists, the audit log, statistics and exports, and nothing that needs the newest state', async () => {
    await pause();
    const prefix = await insert();
    const [user] = await servers.onPrimary(`select user_id from users where carrier_id = '${prefix}'`);
    await servers.onPrimary(`
      insert into events
        (event_id, event_type, occurred_at, actor_type, target_type, target_id, carrier_id, ip, tx, changes)
      select
        uuid_v7(), 'login.failed', now(), 'system', 'user', user_id, carrier_id, '192.0.2.7', pg_current_xact_id(), '{}'
      from users where carrier_id = '${prefix}'`);
    const has = async (path: string) => (await service.get(path, reader)).text.includes(prefix);
    const seen: Record<string, boolean> = {};
    for (const path of [
      `/user/list?carrier_id=${prefix}&order_by=name`,
      `/user/list?user_id=${String(user?.['user_id'])}`,
      `/user/${String(user?.['user_id'])}`,
      `/carrier/list?carrier_id=${prefix}`,
      `/audit/list?carrier_id=${prefix}&event_type=login.failed`,
      '/stats/attacks',
      '/user/export?format=ndjson',
    ])
      // The body of a list does not contain its filter.
      seen[path.replace(/\?.*/, '').replace(/[0-9a-f-]{36}/, 'id') + (path.includes('user_id=') ? '?id' : '')] =
        await has(path);
    expect(seen).toEqual({
      ...{ '/user/list': false, '/carrier/list': false, '/audit/list': false, '/stats/attacks': false },
      ...{ '/user/export': false, '/user/list?id': true, '/user/id': true },
    });
    await servers.onStandby('select pg_wal_replay_resume()');
    await until(() => has(`/user/list?carrier_id=${prefix}`));
  });

  it('shows callers their own changes at once while the replica does not replay (F37)', async () => {
    await pause();
    const { name, user_id } = await service.createUser({}, admin);
    const list = async (login: { token: string }) => (await service.get(`/user/list?name=${name}`, login)).body.items;
    expect(await list(admin)).toMatchObject([{ user_id }]);
    expect(await list(reader)).toEqual([]);
    const { text } = await service.get('/user/export?format=ndjson', admin);
    expect(text).toContain(name);
  });

  it('shows callers their own changes at all workers of an instance (F37)', async () => {
    const urls = { DATABASE_URL: servers.primary, DATABASE_REPLICA_URL: servers.standby, REPLICA_LAG_MAX_MS: '60000' };
    const pair = await ServiceProcess.start({ ...settings, ...urls, WORKERS: '2' });
    try {
      await pair.until(() => workerPids(pair.output).length === 2);
      // The primary process passes each new connection to the next worker.
      const lists = async (query: string, { token }: { token: string }) => {
        const list = () => pair.get(`/user/list?${query}`, { token, headers: { connection: 'close' } });
        const found: number[] = [];
        for (let n = 0; n < 4; n++) found.push((await list()).body.items.length);
        return found;
      };
      await until(async () => {
        const before = (await counted(pair)).replica;
        await lists('per_page=1', reader);
        return (await counted(pair)).replica === before + 4;
      });
      await pause();
      const { name } = await pair.createUser({}, admin);
      expect(await lists(`name=${name}`, admin)).toEqual([1, 1, 1, 1]);
      expect(await lists(`name=${name}`, reader)).toEqual([0, 0, 0, 0]);
    } finally {
      await pair.kill();
    }
  });

  it('shows callers the changes that the feed or an operation showed them (F37)', async () => {
    await pause();
    const { name } = await service.createUser({}, admin);
    const list = async () => (await service.get(`/user/list?name=${name}`, reader)).body.items.length as number;
    expect(await list()).toBe(0);
    await service.get('/change/list', reader);
    expect(await list()).toBe(1);
  });

  it('reads the primary while the lag is above the limit (F37)', async () => {
    await isRead(other);
    await pause();
    const before = await counted(other);
    const prefix = await insert();
    await until(async () => (await counted(other)).lag > 1);
    const { body } = await other.get(`/user/list?carrier_id=${prefix}`, reader);
    expect(body.items).toHaveLength(1);
    expect((await counted(other)).lagging).toBeGreaterThan(before.lagging);
  });

  it.each(['is cut off', 'hangs'])('repeats a list on the primary if the replica %s meanwhile (F37)', async (fault) => {
    const prefix = await insert(3);
    await until(async () => (await service.get(`/user/list?carrier_id=${prefix}`, reader)).body.items.length === 3);
    await isRead();
    const held = proxy.holdAnswerTo('with page as materialized');
    const answer = service.get(`/user/list?carrier_id=${prefix}`, reader);
    await held;
    if (fault === 'hangs') proxy.freeze();
    else await proxy.cut();
    const since = performance.now();
    const { status, body } = await answer;
    expect(performance.now() - since).toBeLessThan(10_000);
    expect([status, body.items.length, body.total.value]).toEqual([200, 3, 3]);
    expect((await service.get(`/user/list?carrier_id=${prefix}`, reader)).status).toBe(200);
  });

  it('reads no standby that may be behind the one that a list began with (F37)', async () => {
    const prefix = await insert(3);
    await until(async () => (await service.get(`/user/list?carrier_id=${prefix}`, reader)).body.items.length === 3);
    await pause();
    const before = await counted();
    const held = proxy.holdAnswerTo('with page as materialized');
    const answer = service.get(`/user/list?carrier_id=${prefix}&per_page=2`, reader);
    await held;
    const lock = new Client(servers.primary);
    await lock.connect();
    await lock.query('begin; lock table users');
    const readAgain = () => service.output.split('replica: is read again').length;
    const times = readAgain();
    await proxy.cut();
    // The address makes it another standby for the service.
    proxy.moveTo(servers.standby.replace('127.0.0.1', '127.0.0.2'));
    await proxy.restore();
    await until(() => readAgain() > times);
    await lock.end();
    const { items, total } = (await answer).body;
    expect([items.length, total.value]).toEqual([2, 3]);
    // The page and the count.
    expect((await counted()).faults).toBeGreaterThanOrEqual(before.faults + 2);
  });

  it('lists from the replica for callers whose tokens a module or a proxy checks', async () => {
    await pause();
    const before = await counted();
    const check = await service.get('/auth/verify', reader);
    await service.get('/user/list?per_page=1', reader);
    expect([check.status, (await counted()).replica]).toEqual([204, before.replica + 1]);
  });

  it('opens an export on the primary if the replica is cut off, and ends one that has begun (F37)', async () => {
    const prefix = await insert(450);
    await until(async () => (await service.get(`/user/list?carrier_id=${prefix}`, reader)).body.total.value === 450);
    await isRead();
    const path = `/user/export?carrier_id=${prefix}&format=ndjson`;
    let held = proxy.holdAnswerTo('begin isolation level repeatable read');
    let answer = service.get(path, reader);
    await held;
    await proxy.cut();
    expect((await answer).text.trim().split('\n')).toHaveLength(450);
    await proxy.restore();
    await isRead();
    held = proxy.holdAnswerTo('fetch 100 from texts');
    answer = service.get(path, reader);
    await held;
    held = proxy.holdAnswerTo('fetch 100 from texts');
    proxy.release();
    await held;
    await proxy.cut();
    await expect(answer).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('reads no other server behind the URL than the one whose state it knows (F37)', async () => {
    await isRead();
    const before = await counted();
    proxy.moveTo(servers.primary);
    await service.get('/user/export?format=ndjson', reader);
    expect((await counted()).faults).toBe(before.faults + 1);
    await Promise.all(Array.from({ length: 4 }, () => service.get('/user/list', reader)));
    expect((await counted()).faults).toBeGreaterThan(before.faults + 1);
    proxy.moveTo(servers.standby);
  });

  describe('a copy of users', () => {
    let prefix: string;
    let user_id: string;
    const list = `/user/list?per_page=10&order_by=name&count=none`;
    const copy = (by: ServiceProcess, cursor = '') =>
      by.get(`${list}&carrier_id=${prefix}${cursor && `&cursor=${cursor}`}`, reader);
    /** Changes the last user, and waits until the horizon of the primary is after the change. */
    const change = async () => {
      const { status } = await other.patch(`/user/${user_id}`, { ...admin, body: { locale: 'de' } });
      expect(status).toBe(200);
      await service.get('/change/list', admin);
      const horizon = async () => (await service.get('/user/list?per_page=1', admin)).body.changes_cursor as string;
      const first = await horizon();
      await until(async () => (await horizon()) !== first);
    };
    beforeEach(async () => {
      prefix = await insert(11);
      await until(async () => (await copy(service)).body.next_cursor !== null);
      const { next_cursor } = (await copy(service)).body;
      user_id = (await copy(service, next_cursor as string)).body.items[0].user_id as string;
    });

    it('begins before the state of the replica, so that the feed has the changes that it lacks (F37)', async () => {
      await pause();
      await change();
      const { changes_cursor, next_cursor } = (await copy(service)).body;
      expect((await copy(service, next_cursor as string)).body.items).toMatchObject([{ locale: null }]);
      const { body } = await other.get(`/change/list?after=${changes_cursor as string}`, reader);
      expect(body.items).toContainEqual(expect.objectContaining({ target_id: user_id }));
    });

    it('has no later page from before its first page, which another instance read (F37)', async () => {
      await pause();
      await change();
      await until(async () => (await counted(other)).lag > 1);
      const { next_cursor } = (await copy(other)).body;
      const older = (await copy(service)).body.next_cursor as string;
      expect((await copy(service, older)).body.items).toMatchObject([{ locale: null }]);
      expect((await copy(service, next_cursor as string)).body.items).toMatchObject([{ locale: 'de' }]);
    });
  });

  it('never reads a standby of another primary (F37)', async () => {
    const foreign = await ReplicatedPostgres.startForeign();
    const urls = { DATABASE_URL: servers.primary, DATABASE_REPLICA_URL: foreign.url };
    const astray = await ServiceProcess.start({ ...settings, ...urls });
    try {
      await until(() => astray.output.includes('replica: is not read: the server is not a standby of the primary'));
      expect((await astray.get('/user/list', reader)).status).toBe(200);
      expect(await counted(astray)).toMatchObject({ replica: 0, faults: 0 });
    } finally {
      await astray.kill();
      await foreign.stop();
    }
  });

  it('starts without the replica, and never reads another server or a promoted standby (F37)', async () => {
    await proxy.cut();
    const urls = { DATABASE_URL: servers.primary, DATABASE_REPLICA_URL: proxy.url, REPLICA_LAG_MAX_MS: '60000' };
    const late = await ServiceProcess.start({ ...settings, ...urls });
    try {
      expect((await late.get('/user/list', reader)).status).toBe(200);
      expect(late.output).toContain('replica: is not read: connect ECONNREFUSED');
      proxy.moveTo(servers.primary);
      await proxy.restore();
      await until(() => late.output.includes('replica: is not read: the server is not a standby'));
      expect(await counted(late)).toMatchObject({ replica: 0 });
      proxy.moveTo(servers.standby);
      await proxy.cut();
      await proxy.restore();
      await isRead(late);
      await servers.waitFor('');
      await servers.promote();
      await until(() => late.output.split('the server is not a standby').length === 3);
      const before = await counted(late);
      const prefix = await insert();
      expect((await late.get(`/user/list?carrier_id=${prefix}`, reader)).body.items).toHaveLength(1);
      expect((await counted(late)).replica).toBe(before.replica);
    } finally {
      await late.kill();
    }
  });
});
