import { chunk, RawConnection, requestHead } from '../support/raw-connection';
import { until } from '../support/until';
import { TestService } from '../support/service';

const header = 'user_type,name,email,carrier_id\n';
const row = (name: string) => `carrier,${name},${name}@example.com,c1\n`;
const rows = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => row(`${prefix}-${i}`)).join('');
const whole = (text: string) => text;
/** More data than all buffers between client and service hold. */
const parts = 300;
const tail = 'the end\n';

describe('interrupted uploads', () => {
  let service: TestService;
  let port: number;
  const connections: RawConnection[] = [];
  /** slow uploads that start together */
  const slow: Record<string, RawConnection> = {};
  let flowing: Promise<void>;
  const waits: number[] = [];
  let waiting: NodeJS.Timeout;

  const open = async () => {
    const connection = await RawConnection.open(port);
    connections.push(connection);
    return connection;
  };
  const head = (headers: Record<string, string | undefined> = {}, path = '/user/import') =>
    requestHead('POST', path, {
      authorization: `Bearer ${service.admin.token}`,
      'content-type': 'text/csv',
      'transfer-encoding': headers['content-length'] === undefined ? 'chunked' : undefined,
      ...headers,
    });
  const begin = async (bytes: string) => {
    const connection = await open();
    await connection.send(bytes);
    return connection;
  };
  const usersLike = (prefix: string) => service.rows(`select 1 from users where name like $1 || '-%'`, [prefix]);
  const receiving = (key: string) =>
    service.rows(
      `
        select operation_id
        from operations
        where request_id = $1
          and exists (
            select 1
            from operation_batches
            where operation_batches.operation_id = operations.operation_id
          )`,
      [key],
    );

  /** A smuggled request that would create a user. */
  const smuggled = () => {
    const body = JSON.stringify({
      user_type: 'carrier',
      name: 'smuggled',
      email: 'smuggled@example.com',
      carrier_id: 'c1',
    });
    return head({ 'content-type': 'application/json', 'content-length': String(body.length) }, '/user/create') + body;
  };

  beforeAll(async () => {
    service = await TestService.start();
    ({ port } = await service.listen());
    slow['stalled'] = await begin(head({ 'x-request-id': 'stalled' }) + chunk(header + rows('stalled', 2_500)));
    slow['flowing'] = await begin(head() + chunk(header));
    let sent = 0;
    flowing = (async () => {
      for (; sent < 55; sent++) await slow['flowing']!.trickle(chunk(row(`flowing-${sent}`)), 400, 1);
      await slow['flowing']!.send('0\r\n\r\n');
    })();
    const json = { 'content-type': 'application/json' };
    slow['body'] = await begin(requestHead('POST', '/auth/login', { ...json, 'content-length': '4000' }));
    slow['chunks'] = await begin(requestHead('POST', '/auth/login', { ...json, 'transfer-encoding': 'chunked' }));
    slow['headers'] = await begin('GET /health/live HTTP/1.1\r\nhost: localhost\r\n');
    void slow['body'].trickle(' ', 300);
    void slow['chunks'].trickle(chunk(' '), 300);
    void slow['headers'].trickle('x-slow: 1\r\n', 300);
    // Many clients, and another one that only waits for a response.
    for (let i = 0; i < 200; i++) void (await begin('GET /health/live HTTP/1.1\r\nx-slow: ')).trickle('a', 1_000);
    waiting = setInterval(() => {
      const since = performance.now();
      void fetch(`http://127.0.0.1:${port}/health/live`).then((answer) =>
        waits.push(answer.ok ? performance.now() - since : Infinity),
      );
    }, 250);
  });
  afterAll(async () => {
    clearInterval(waiting);
    connections.forEach(({ socket }) => socket.destroy());
    await service.close();
  });

  it.each([
    ['whose length is known', { 'content-length': '9000000' }, whole],
    ['in chunks', {}, chunk],
  ])('leaves nothing behind when an upload is cut %s, and frees its key (F18)', async (_how, length, framed) => {
    const key = `broken-${Object.keys(length).length}`;
    const connection = await begin(
      head({ ...length, 'idempotency-key': key, 'x-request-id': key }) + framed(header + rows(key, 2_500)),
    );
    await until(async () => (await receiving(key)).length === 1);
    connection.socket.resetAndDestroy();
    await until(async () => (await service.rows('select 1 from operations where request_id = $1', [key])).length === 0);
    expect(
      await service.rows(
        'select 1 from operation_batches where operation_id not in (select operation_id from operations)',
      ),
    ).toEqual([]);
    expect(await usersLike(key)).toEqual([]);
    const transactions = `
      select query
      from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%'`;
    expect(await service.rows(transactions)).toEqual([]);
    await until(async () => (await service.rows('select 1 from idempotency_keys')).length === 0);
    const again = await service.post('/user/import', {
      ...service.admin,
      body: header + row(`${key}-1`),
      headers: { 'content-type': 'text/csv', 'idempotency-key': key },
    });
    expect([again.status, again.body.changed]).toEqual([200, 1]);
    await service.rows('delete from idempotency_keys');
  });

  it.each<
    [string, () => Promise<[path: string, headers: Record<string, string | undefined>, begins: string]>, number, string]
  >([
    [
      'a header that is wrong',
      () => Promise.resolve(['/user/import', {}, 'user_type,nonsense\n']),
      400,
      'request.invalid',
    ],
    [
      'no token',
      () => Promise.resolve(['/user/import', { authorization: undefined }, header]),
      401,
      'auth.token_missing',
    ],
    [
      'no permission',
      async () => ['/user/import', { authorization: `Bearer ${(await service.loginAs()).token}` }, header],
      403,
      'access.denied',
    ],
    [
      'another type',
      () => Promise.resolve(['/user/import', { 'content-type': 'application/zip' }, header]),
      413,
      'request.too_large',
    ],
    [
      'another charset',
      () => Promise.resolve(['/user/import', { 'content-type': 'text/csv; charset=utf-16' }, header]),
      415,
      'request.unsupported_media_type',
    ],
    ['another route', () => Promise.resolve(['/user/create', {}, header]), 415, 'request.unsupported_media_type'],
    [
      'too much JSON',
      () => Promise.resolve(['/user/create', { 'content-type': 'application/json' }, '{"name":"']),
      413,
      'request.too_large',
    ],
  ])(
    'delivers the rejection for %s to a client that still sends, and ignores what follows (F18)',
    async (_why, make, status, code) => {
      const part = 'x'.repeat(60_000) + '\n'.repeat(5_536);
      for (const framed of [whole, chunk]) {
        const [path, headers, begins] = await make();
        const length = framed === whole ? String(begins.length + parts * part.length + tail.length) : undefined;
        const connection = await begin(head({ 'content-length': length, ...headers }, path));
        // Reads nothing while it sends, as simple clients do.
        connection.socket.pause();
        await connection.send(framed(begins));
        for (let sent = 0; sent < parts; sent++) await connection.send(framed(part));
        expect(connection.error).toBeNull();
        connection.socket.resume();
        await until(() => Promise.resolve(connection.received.endsWith('}')));
        expect([connection.status, connection.error]).toEqual([status, null]);
        expect(connection.received).toContain(`"code":"${code}"`);
        expect(connection.received).toMatch(/^connection: close\r$/im);
        await connection.send(`${framed(tail)}${framed === whole ? '' : '0\r\n\r\n'}${smuggled()}`);
        await connection.trickle('\r\n', 20);
        expect(connection.answers).toBe(1);
      }
      expect(await service.rows(`select 1 from users where name = 'smuggled'`)).toEqual([]);
    },
  );

  it('disconnects a rejected client that never stops sending (F18)', async () => {
    const connection = await begin(head({ authorization: undefined }));
    const since = performance.now();
    void connection.trickle(chunk('x'.repeat(1_000)), 20);
    await connection.closed;
    expect([connection.status, connection.answers]).toEqual([401, 1]);
    expect(performance.now() - since).toBeLessThan(10_000);
  });

  it.each<[string, () => string, number]>([
    [
      'both lengths',
      () =>
        head({ 'content-length': '5', 'Transfer-Encoding': 'chunked' }) + chunk(header + row('framed-1')) + '0\r\n\r\n',
      400,
    ],
    ['two lengths', () => head({ 'content-length': '5', 'Content-Length': '500' }) + header + row('framed-2'), 400],
    ['a length that is none', () => head({ 'content-length': '+100' }) + header + row('framed-3'), 400],
    [
      'chunked not last',
      () => head({ 'transfer-encoding': 'chunked, identity' }) + chunk(header + row('framed-4')) + '0\r\n\r\n',
      400,
    ],
    ['no chunk', () => head() + chunk(header) + `zz\r\n${row('framed-5')}\r\n0\r\n\r\n`, 400],
    ['a chunk that is longer than it says', () => head() + `3\r\n${header}\r\n0\r\n\r\n`, 400],
  ])(
    'rejects request smuggling by %s, creates no user and runs no smuggled request (H9)',
    async (_how, bytes, status) => {
      const connection = await begin(bytes() + smuggled());
      await connection.trickle('\r\n', 20);
      expect([connection.status, connection.answers]).toEqual([status, 1]);
      await until(
        async () =>
          (await service.rows(`select 1 from operations where status = 'receiving' and request_id <> 'stalled'`))
            .length <= 1,
      );
      expect(await service.rows(`select 1 from users where name like 'framed-%' or name = 'smuggled'`)).toEqual([]);
    },
  );

  it('treats the rest of a file with a too small length as no request and closes the connection (H9)', async () => {
    const connection = await begin(
      head({ 'content-length': String((header + row('short-1')).length) }) + header + row('short-1') + row('short-2'),
    );
    await connection.ended;
    expect(connection.status).toBe(400);
    await until(async () => (await usersLike('short')).length === 1);
  });

  it('reports the cancellation to the uploading client and leaves no batch', async () => {
    // An actor may have three unfinished imports.
    const unfinished = `select 1 from operations where finished_at is null and request_id <> 'stalled'`;
    await until(async () => (await service.rows(unfinished)).length === 0);
    const connection = await begin(head({ 'x-request-id': 'canceled' }) + chunk(header + rows('canceled', 2_500)));
    await until(async () => (await receiving('canceled')).length === 1);
    const [{ operation_id } = {}] = await receiving('canceled');
    expect((await service.post(`/user/operation/${operation_id as string}/cancel`, service.admin)).status).toBe(202);
    await connection.send(`${chunk(rows('canceled-more', 3_000))}0\r\n\r\n`);
    await until(() => Promise.resolve(connection.received.includes('"status":"canceled"')));
    expect(connection.status).toBe(202);
    expect(await service.rows('select 1 from operation_batches where operation_id = $1', [operation_id])).toEqual([]);
    expect(await service.rows('select event_type from events where operation_id = $1', [operation_id])).toEqual([
      { event_type: 'operation.canceled' },
    ]);
    expect(await usersLike('canceled')).toEqual([]);
  });

  it('ends trickling headers and bodies, and serves all other clients meanwhile (F18, H18)', async () => {
    for (const name of ['body', 'chunks', 'headers']) {
      const ms = await slow[name]!.closed;
      expect([name, slow[name]!.status]).toEqual([name, 400]);
      expect(ms).toBeGreaterThan(14_000);
      expect(ms).toBeLessThan(25_000);
    }
    expect(Math.max(...waits)).toBeLessThan(10_000);
  });

  it('receives a slow file as long as data flows, and disconnects it once it is silent', async () => {
    await flowing;
    await until(async () => Promise.resolve(slow['flowing']!.status > 0), 15_000);
    expect(slow['flowing']!.received).toContain('"changed":55');
    await slow['stalled']!.ended;
    await until(async () => (await service.rows(`select 1 from operations where request_id = 'stalled'`)).length === 0);
    expect(await usersLike('stalled')).toEqual([]);
  });
});
