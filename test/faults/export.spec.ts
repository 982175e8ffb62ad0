import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { UsersExportService } from '../../src/users-transfer/users-export.service';
import { createKey } from '../support/keys';
import { TestService } from '../support/service';
import { until } from '../support/until';

const exporter = { carrier_id: 'big', roles: ['exporter'] };
const snapshots = `
  select pid
  from pg_stat_activity
  where datname = current_database() and application_name = 'carrier-identity snapshot'`;

describe('interrupted exports', () => {
  let service: TestService;
  let url: string;
  const under: ClientRequest[] = [];
  beforeAll(async () => {
    service = await TestService.start();
    ({ url } = await service.listen());
    await service.rows(`
      insert into roles (name, user_types, permissions)
      values ('exporter', '{carrier}', '{user:export}')`);
    // More data than all buffers between service and client hold.
    await service.rows(`
      insert into users (user_id, user_type, name, email, carrier_id, status, attributes)
      select
        uuid_v7(), 'carrier', 'big-' || i, 'big-' || i || '@example.com', 'big', 'invited',
        jsonb_build_object('pad', repeat('x', 2000))
      from generate_series(1, 20000) i`);
  });
  afterAll(() => service.close());
  afterEach(async () => {
    under.splice(0).forEach((request) => request.destroy());
    await until(async () => (await service.rows(snapshots)).length === 0);
  });

  /** Requests an export and reads only the head of the response. */
  function begin(query = 'format=ndjson', token = service.admin.token): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      const request = get(`${url}/user/export?${query}`, { headers, agent: false }, resolve).on('error', reject);
      under.push(request);
    });
  }

  it('leaves no query and no connection behind when a client disconnects during an export', async () => {
    const answer = await begin();
    expect([answer.statusCode, await service.rows(snapshots)]).toEqual([200, [expect.anything()]]);
    answer.destroy();
    await until(async () => (await service.rows(snapshots)).length === 0);
  });

  it('leaves no query and no connection behind when a client disconnects before the first line', async () => {
    const lock = await service.sql.connect();
    await lock.query('begin; lock table credentials in access exclusive mode');
    const request = get(`${url}/user/export?format=ndjson&hashes=true`, {
      headers: { authorization: `Bearer ${service.admin.token}` },
    });
    request.on('error', () => undefined);
    await until(async () => (await service.rows(`${snapshots} and wait_event_type = 'Lock'`)).length === 1);
    request.destroy();
    await until(async () => (await service.rows(snapshots)).length === 0);
    expect(await service.rows(snapshots)).toEqual([]);
    await lock.query('rollback');
    lock.release();
  });

  it('allows one export per user, so that one user with slow readers does not block others', async () => {
    const { token } = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const held = await begin();
    expect(held.statusCode).toBe(200);
    for (const query of ['format=ndjson', 'format=csv', 'carrier_id=nowhere']) {
      const second = await begin(query);
      expect([second.statusCode, second.headers['retry-after']]).toEqual([429, '5']);
      expect(second.headers).toMatchObject({
        'ratelimit-policy': expect.stringContaining('q=1'),
        ratelimit: expect.stringContaining('r=0'),
      });
    }
    const ofOther = await begin('format=csv', token);
    expect(ofOther.statusCode).toBe(200);
    held.destroy();
    ofOther.destroy();
    // The place is free a moment after PostgreSQL has closed the snapshot.
    await until(async () => (await begin()).statusCode === 200);
  });

  it('allows one export to a user and their API keys together, and returns 503 to a third user (D30)', async () => {
    const { key } = await createKey(service, ['user:export']);
    const other = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const { key: ofOther } = await createKey(service, ['user:export'], {}, other);
    const { token } = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    expect((await begin()).statusCode).toBe(200);
    expect((await begin('format=csv', key)).statusCode).toBe(429);
    expect((await begin('format=csv', ofOther)).statusCode).toBe(200);
    expect((await begin('format=csv', other.token)).statusCode).toBe(429);
    const third = await begin('format=csv', token);
    expect([third.statusCode, third.headers['retry-after']]).toEqual([503, '2']);
    expect((await service.get('/user', service.admin)).status).toBe(200);
  });

  it('allows one export to the users of a carrier together, so that two of them leave a place (D30)', async () => {
    const [first, second] = [await service.loginAs(exporter), await service.loginAs(exporter)];
    expect((await begin('format=csv', first.token)).statusCode).toBe(200);
    expect((await begin('format=csv', second.token)).statusCode).toBe(429);
    expect((await begin()).statusCode).toBe(200);
  });

  it('disconnects readers that trickle, so that two actors cannot occupy both places forever', async () => {
    const exports = service.app.get(UsersExportService);
    const { pace } = exports;
    expect(pace).toEqual({ patienceMs: 30_000, bytesPerSecond: 16_384 });
    exports.pace = { patienceMs: 1_000, bytesPerSecond: 50_000_000 };
    const { token } = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const slow = [await begin(), await begin('format=csv', token)];
    const reading = setInterval(() => slow.forEach((answer) => answer.read(1_000)), 20);
    const ended = slow.map((answer) => new Promise((resolve) => answer.on('error', resolve)));
    try {
      await until(async () => (await service.rows(snapshots)).length === 0);
    } finally {
      clearInterval(reading);
      exports.pace = pace;
    }
    // The client reads the buffered data first. Then the connection ends without the end of the
    // body.
    slow.forEach((answer) => answer.resume());
    await Promise.all(ended);
    expect(slow.map(({ complete }) => complete)).toEqual([false, false]);
    expect((await begin()).statusCode).toBe(200);
  });

  it('disconnects a reader that stops reading', async () => {
    const server = service.app.getHttpServer();
    const { timeout } = server;
    expect(timeout).toBe(30_000);
    server.timeout = 500;
    const answer = await begin();
    answer.on('error', () => undefined);
    expect(await service.rows(snapshots)).toHaveLength(1);
    await until(async () => (await service.rows(snapshots)).length === 0);
    server.timeout = timeout;
  });

  it('breaks the connection when the database fails, so that no file looks complete', async () => {
    const answer = await begin();
    const ended = new Promise<string>((resolve) =>
      answer.on('end', () => resolve('complete')).on('error', () => resolve('broken off')),
    );
    await service.rows(`select pg_terminate_backend(pid) from (${snapshots}) found`);
    answer.resume();
    expect(await ended).toBe('broken off');
    expect(answer.complete).toBe(false);
  });
});
