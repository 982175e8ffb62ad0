import { until } from '../support/until';
import { chunk, RawConnection, requestHead } from '../support/raw-connection';
import { TestService } from '../support/service';

const header = 'user_type,name,email,carrier_id\n';
const limits = { bodyMs: 2_000, uploadGraceMs: 10_000, uploadBytesPerSecond: 500, uploadMaxBytes: 200_000 };
/** Longer than `bodyMs` and `uploadGraceMs` together. */
const longMs = 13_000;
/** Time for which the service keeps a rejected connection open (see `receiving.ts`). */
const lingerMs = 5_000;
const rows = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `carrier,${prefix}-${index},${prefix}-${index}@example.com,c1\n`).join(
    '',
  );

describe('slow and large uploads', () => {
  let service: TestService;
  let port: number;
  let unauthorised: string;
  const connections: RawConnection[] = [];
  beforeAll(async () => {
    service = await TestService.start({}, limits);
    ({ port } = await service.listen());
    unauthorised = `Bearer ${(await service.loginAs()).token}`;
  });
  afterEach(() => connections.splice(0).forEach(({ socket }) => socket.destroy()));
  afterAll(() => service.close());

  const begin = async (headers: Record<string, string | undefined>, body = '') => {
    const connection = await RawConnection.open(port);
    connections.push(connection);
    await connection.send(requestHead('POST', '/user/import', headers) + body);
    return connection;
  };
  const upload = (headers: Record<string, string | undefined> = {}) => ({
    authorization: `Bearer ${service.admin.token}`,
    'content-type': 'text/csv',
    'transfer-encoding': 'chunked',
    ...headers,
  });
  const openAtServer = () =>
    new Promise<number>((resolve, reject) =>
      service.app.getHttpServer().getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
    );
  const left = () =>
    service.rows(
      `
        select 'operation' as kind
        from operations
        where status = 'receiving'
        union all
        select 'batch'
        from operation_batches`,
    );

  it('rejects 100 slow bodies without access at the deadline, for every token, type and length (H21)', async () => {
    const tokens = [undefined, 'Bearer not.a.token', unauthorised];
    const types = ['application/json', undefined, 'text/csv', 'application/octet-stream', 'text/csv; charset=utf-16'];
    const slow = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        begin(
          {
            authorization: tokens[index % tokens.length],
            'content-type': types[index % types.length],
            ...(index % 2 === 0 ? { 'content-length': '4000' } : { 'transfer-encoding': 'chunked' }),
          },
          index % 2 === 0 ? '{' : chunk('{'),
        ),
      ),
    );
    slow.forEach((connection, index) => void connection.trickle(index % 2 === 0 ? ' ' : chunk(' '), 250));
    await until(async () => (await openAtServer()) === 0);
    // Earlier than the minimum rate of accepted uploads would close the connections.
    const latest = Math.max(...(await Promise.all(slow.map(({ closed }) => closed))));
    expect(latest).toBeLessThan(limits.bodyMs + lingerMs + 2_500);
    expect(slow.filter(({ status }) => ![400, 401, 403].includes(status))).toEqual([]);
  });

  it('receives an accepted upload for longer than the deadline as long as data flows (H21)', async () => {
    const connection = await begin(upload(), chunk(header));
    await connection.trickle((round) => chunk(rows(`flowing-${round}`, 10)), 250, longMs / 250);
    await connection.send('0\r\n\r\n');
    await until(() => Promise.resolve(connection.status > 0));
    expect([connection.status, connection.error]).toEqual([200, null]);
    expect(connection.received).toContain(`"changed":${(longMs / 250) * 10},`);
  });

  it('ends an accepted upload that falls below the minimum rate, and stores no part of it (H21)', async () => {
    const connection = await begin(upload(), chunk(header + rows('trickling', 1_100)));
    void connection.trickle(chunk('c'), 250);
    await until(async () => (await openAtServer()) === 0, 60_000);
    expect(connection.status).toBe(400);
    await until(async () => (await left()).length === 0);
    expect(await service.rows(`select 1 from users where name like 'trickling-%'`)).toEqual([]);
  });

  it('rejects an upload with a length above the limit after the guard and before it is read (H21)', async () => {
    const large = { 'transfer-encoding': undefined, 'content-length': String(limits.uploadMaxBytes + 1) };
    for (const [authorization, status] of [
      [undefined, 401],
      [unauthorised, 403],
      [`Bearer ${service.admin.token}`, 413],
    ] as const) {
      const connection = await begin(upload({ ...large, authorization }));
      await until(() => Promise.resolve(connection.status > 0));
      expect(connection.status).toBe(status);
    }
    expect(await left()).toEqual([]);
  });

  it.each([{}, { 'idempotency-key': 'large' }])(
    'rejects an upload that exceeds the limit while it is sent, and stores no part of it: %j (H21)',
    async (headers) => {
      const connection = await begin(upload(headers), chunk(header));
      const part = rows('large', 1_000);
      for (let sent = 0; sent <= limits.uploadMaxBytes; sent += part.length) await connection.send(chunk(part));
      // The client has not sent the end of the file.
      await until(() => Promise.resolve(connection.status > 0));
      expect(connection.status).toBe(413);
      expect(connection.received).toContain('"code":"request.too_large"');
      expect(await left()).toEqual([]);
      expect(await service.rows(`select 1 from users where name like 'large-%'`)).toEqual([]);
      expect(await service.rows('select 1 from idempotency_keys')).toEqual([]);
    },
  );
});
