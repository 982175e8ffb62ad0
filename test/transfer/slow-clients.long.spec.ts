import { get } from 'node:http';
import { chunk, RawConnection, requestHead } from '../support/raw-connection';
import { TestService } from '../support/service';
import { until } from '../support/until';

/** With the limits of production: headers and bodies 15 s, silent connections 30 s. */
describe('slow clients', () => {
  let service: TestService;
  const connections: RawConnection[] = [];
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(async () => {
    connections.forEach(({ socket }) => socket.destroy());
    await service.close();
  });

  const begin = async (bytes: string) => {
    const connection = await RawConnection.open(service.port);
    connections.push(connection);
    await connection.send(bytes);
    return connection;
  };

  it('are disconnected if they trickle headers or bodies, and all others are served meanwhile (F18, H18)', async () => {
    const json = { 'content-type': 'application/json' };
    const slow = [
      await begin(requestHead('POST', '/auth/login', { ...json, 'content-length': '4000' })),
      await begin(requestHead('POST', '/auth/login', { ...json, 'transfer-encoding': 'chunked' })),
      await begin('GET /health/live HTTP/1.1\r\nhost: localhost\r\n'),
    ];
    [' ', chunk(' '), 'x-slow: 1\r\n'].forEach((text, index) => void slow[index]?.trickle(text, 300));
    for (let i = 0; i < 200; i++) void (await begin('GET /health/live HTTP/1.1\r\nx-slow: ')).trickle('a', 1_000);
    expect((await service.get('/health/live')).status).toBe(200);
    await Promise.all(slow.map(({ closed }) => closed));
    expect(slow.map(({ status }) => status)).toEqual([400, 400, 400]);
  });

  it('are disconnected if they stop reading an export', async () => {
    await service.rows(`
      insert into users (user_id, user_type, name, email, carrier_id, status, attributes)
      select
        uuid_v7(), 'carrier', 'big-' || i, 'big-' || i || '@example.com', 'big', 'invited',
        jsonb_build_object('pad', repeat('x', 10000))
      from generate_series(1, 4000) i`);
    const headers = { authorization: `Bearer ${service.admin.token}` };
    const request = get(`${service.url}/user/export?format=ndjson`, { headers, agent: false });
    request.on('error', () => undefined).on('response', (answer) => answer.on('error', () => undefined));
    const snapshots = `
      select 1
      from pg_stat_activity
      where datname = current_database() and application_name = 'carrier-identity snapshot'`;
    await until(async () => (await service.rows(snapshots)).length === 1);
    await until(async () => (await service.rows(snapshots)).length === 0, 120_000);
    request.destroy();
  });
});
