import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { createKey } from '../support/keys';
import { chunk, RawConnection, requestHead } from '../support/raw-connection';
import { TestService } from '../support/service';
import { until } from '../support/until';

const header = 'user_type,name,email,carrier_id\n';
const row = (name: string) => `carrier,${name},${name}@example.com,c1\n`;
const rows = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => row(`${prefix}-${i}`)).join('');
const whole = (text: string) => text;
/** More data than all buffers between client and service hold. */
const parts = 300;

describe('interrupted transfers', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
    await service.rows(
      `insert into roles (name, user_types, permissions) values ('exporter', '{carrier}', '{user:export}')`,
    );
  });
  afterAll(() => service.close());

  describe('uploads', () => {
    const connections: RawConnection[] = [];
    afterAll(() => connections.forEach(({ socket }) => socket.destroy()));

    const head = (headers: Record<string, string | undefined> = {}, path = '/user/import') =>
      requestHead('POST', path, {
        authorization: `Bearer ${service.admin.token}`,
        'content-type': 'text/csv',
        'transfer-encoding': headers['content-length'] === undefined ? 'chunked' : undefined,
        ...headers,
      });
    const begin = async (bytes: string) => {
      const connection = await RawConnection.open(service.port);
      connections.push(connection);
      await connection.send(bytes);
      return connection;
    };
    const usersLike = (prefix: string) => service.rows(`select 1 from users where name like $1 || '-%'`, [prefix]);
    const receiving = (request_id: string) =>
      service.rows<{ operation_id: string }>(
        `
          select distinct operation_id
          from operations
          join operation_batches using (operation_id)
          where request_id = $1`,
        [request_id],
      );
    /** A smuggled request that would create a user. */
    const smuggled = () => {
      const user = { user_type: 'carrier', name: 'smuggled', email: 'smuggled@example.com', carrier_id: 'c1' };
      const body = JSON.stringify(user);
      return head({ 'content-type': 'application/json', 'content-length': String(body.length) }, '/user/create') + body;
    };

    it.each([
      ['whose length is known', { 'content-length': '9000000' }, whole],
      ['in chunks', {}, chunk],
    ])('leaves nothing behind when an upload %s is cut, and frees its key (F18)', async (_how, length, framed) => {
      const key = `broken-${Object.keys(length).length}`;
      const headers = { ...length, 'idempotency-key': key, 'x-request-id': key };
      const connection = await begin(head(headers) + framed(header + rows(key, 2_500)));
      await until(async () => (await receiving(key)).length === 1);
      connection.socket.resetAndDestroy();
      await until(
        async () => (await service.rows('select 1 from operations where request_id = $1', [key])).length === 0,
      );
      expect(await service.rows('select 1 from operation_batches')).toEqual([]);
      expect(await usersLike(key)).toEqual([]);
      const transactions = `
        select query from pg_stat_activity
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

    type Headers = Record<string, string | undefined>;
    const plain = async (path: string, headers: Headers, begins = header) => Promise.resolve({ path, headers, begins });
    it.each<[string, () => ReturnType<typeof plain>, number, string]>([
      ['a wrong header line', () => plain('/user/import', {}, 'user_type,nonsense\n'), 400, 'request.invalid'],
      ['no token', () => plain('/user/import', { authorization: undefined }), 401, 'auth.token_missing'],
      [
        'no permission',
        async () => plain('/user/import', { authorization: `Bearer ${(await service.loginAs()).token}` }),
        ...([403, 'access.denied'] as const),
      ],
      ['another type', () => plain('/user/import', { 'content-type': 'application/zip' }), 413, 'request.too_large'],
      [
        'another charset',
        () => plain('/user/import', { 'content-type': 'text/csv; charset=utf-16' }),
        ...([415, 'request.unsupported_media_type'] as const),
      ],
      ['another route', () => plain('/user/create', {}), 415, 'request.unsupported_media_type'],
      [
        'too much JSON',
        () => plain('/user/create', { 'content-type': 'application/json' }, '{"name":"'),
        ...([413, 'request.too_large'] as const),
      ],
    ])(
      'delivers the rejection for %s to a client that still sends, and ignores what follows (F18)',
      async (_why, make, status, code) => {
        const tail = 'the end\n';
        const part = 'x'.repeat(60_000) + '\n'.repeat(5_536);
        for (const framed of [whole, chunk]) {
          const { path, headers, begins } = await make();
          const length = framed === whole ? String(begins.length + parts * part.length + tail.length) : undefined;
          const connection = await begin(head({ 'content-length': length, ...headers }, path));
          // Reads nothing while it sends, as simple clients do.
          connection.socket.pause();
          await connection.send(framed(begins));
          for (let sent = 0; sent < parts; sent++) await connection.send(framed(part));
          expect(connection.error).toBeNull();
          connection.socket.resume();
          await until(() => connection.received.endsWith('}'));
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
      void connection.trickle(chunk('x'.repeat(1_000)), 20);
      await connection.closed;
      expect([connection.status, connection.answers]).toEqual([401, 1]);
    });

    it.each<[string, () => string]>([
      [
        'both lengths',
        () => {
          const both = { 'content-length': '5', 'Transfer-Encoding': 'chunked' };
          return `${head(both) + chunk(header + row('framed-1'))}0\r\n\r\n`;
        },
      ],
      ['two lengths', () => head({ 'content-length': '5', 'Content-Length': '500' }) + header + row('framed-2')],
      ['a length that is none', () => head({ 'content-length': '+100' }) + header + row('framed-3')],
      [
        'chunked not last',
        () => `${head({ 'transfer-encoding': 'chunked, identity' }) + chunk(header + row('framed-4'))}0\r\n\r\n`,
      ],
      ['no chunk', () => `${head() + chunk(header)}zz\r\n${row('framed-5')}\r\n0\r\n\r\n`],
      ['a chunk that is longer than it says', () => `${head()}3\r\n${header}\r\n0\r\n\r\n`],
    ])('rejects request smuggling by %s, creates no user and runs no smuggled request (H9)', async (_how, bytes) => {
      const connection = await begin(bytes() + smuggled());
      await connection.trickle('\r\n', 20);
      expect([connection.status, connection.answers]).toEqual([400, 1]);
      const open = `select 1 from operations where status = 'receiving'`;
      await until(async () => (await service.rows(open)).length === 0);
      expect(await service.rows(`select 1 from users where name like 'framed-%' or name = 'smuggled'`)).toEqual([]);
    });

    it('treats the rest of a file with a too small length as no request and closes the connection (H9)', async () => {
      const length = String((header + row('short-1')).length);
      const connection = await begin(head({ 'content-length': length }) + header + row('short-1') + row('short-2'));
      await connection.ended;
      expect(connection.status).toBe(400);
      await until(async () => (await usersLike('short')).length === 1);
    });

    it('reports the cancellation to the uploading client, creates no user and leaves no batch', async () => {
      // An actor may have three unfinished imports.
      const unfinished = 'select 1 from operations where finished_at is null';
      await until(async () => (await service.rows(unfinished)).length === 0);
      const connection = await begin(head({ 'x-request-id': 'canceled' }) + chunk(header + rows('canceled', 2_500)));
      await until(async () => (await receiving('canceled')).length === 1);
      const [{ operation_id } = { operation_id: '' }] = await receiving('canceled');
      const list = await service.get('/user/operation/list?status=receiving', service.admin);
      expect(list.body.items).toMatchObject([{ operation_id, changed: 0 }]);
      expect((await service.post(`/user/operation/${operation_id}/cancel`, service.admin)).status).toBe(202);
      await connection.send(`${chunk(rows('canceled-more', 3_000))}0\r\n\r\n`);
      await until(() => connection.received.includes('"status":"canceled"'));
      expect(connection.status).toBe(202);
      expect(await service.rows('select 1 from operation_batches')).toEqual([]);
      expect(await service.rows('select event_type from events where operation_id = $1', [operation_id])).toEqual([
        { event_type: 'operation.canceled' },
      ]);
      expect(await usersLike('canceled')).toEqual([]);
    });
  });

  describe('exports', () => {
    const snapshots = `
      select pid
      from pg_stat_activity
      where datname = current_database() and application_name = 'carrier-identity snapshot'`;
    const under: ClientRequest[] = [];
    beforeAll(() =>
      // More data than all buffers between service and client hold.
      service.rows(`
        insert into users (user_id, user_type, name, email, carrier_id, status, attributes)
        select
          uuid_v7(), 'carrier', 'big-' || i, 'big-' || i || '@example.com', 'big', 'invited',
          jsonb_build_object('pad', repeat('x', 10000))
        from generate_series(1, 4000) i`),
    );
    afterEach(async () => {
      under.splice(0).forEach((request) => request.destroy());
      await closed();
    });

    const closed = () => until(async () => (await service.rows(snapshots)).length === 0);
    const administrator = () => service.loginAs({ user_type: 'system', roles: ['administrator'] });
    /** Requests an export and reads only the head of the response. */
    function begin(query = 'format=ndjson', token = service.admin.token): Promise<IncomingMessage> {
      return new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}` };
        const request = get(`${service.url}/user/export?${query}`, { headers, agent: false }, resolve);
        under.push(request.on('error', reject));
      });
    }

    it('leave no query and no connection behind when a client disconnects', async () => {
      const answer = await begin();
      expect([answer.statusCode, await service.rows(snapshots)]).toEqual([200, [expect.anything()]]);
      answer.destroy();
      await closed();
    });

    it('leave no query and no connection behind when a client disconnects before the first line', async () => {
      const lock = await service.sql.connect();
      try {
        await lock.query('begin; lock table credentials in access exclusive mode');
        const lost = begin('format=ndjson&hashes=true').catch(() => 'disconnected');
        await until(async () => (await service.rows(`${snapshots} and wait_event_type = 'Lock'`)).length === 1);
        under.forEach((request) => request.destroy());
        expect(await lost).toBe('disconnected');
        await closed();
      } finally {
        lock.release(true);
      }
    });

    it('are limited to one per user, so that one user with slow readers does not block others', async () => {
      const held = await begin();
      expect(held.statusCode).toBe(200);
      const { body } = await service.post('/user/export/link', service.admin);
      expect((await service.get(new URL(body.url as string).pathname)).status).toBe(429);
      const second = await begin('carrier_id=nowhere');
      expect([second.statusCode, second.headers['retry-after']]).toEqual([429, '5']);
      expect(second.headers).toMatchObject({
        'ratelimit-policy': expect.stringContaining('q=1'),
        ratelimit: expect.stringContaining('r=0'),
      });
      const ofOther = await begin('format=csv', (await administrator()).token);
      expect(ofOther.statusCode).toBe(200);
      held.destroy();
      // The place is free a moment after PostgreSQL has closed the snapshot.
      await until(async () => (await begin()).statusCode === 200);
    });

    it('are limited to one for a user and their API keys, and rejected for a third user (D30)', async () => {
      const { key } = await createKey(service, ['user:export']);
      const other = await administrator();
      const { key: ofOther } = await createKey(service, ['user:export'], {}, other);
      const third = await administrator();
      expect((await begin()).statusCode).toBe(200);
      expect((await begin('format=csv', key)).statusCode).toBe(429);
      expect((await begin('format=csv', ofOther)).statusCode).toBe(200);
      expect((await begin('format=csv', other.token)).statusCode).toBe(429);
      const rejected = await begin('format=csv', third.token);
      expect([rejected.statusCode, rejected.headers['retry-after']]).toEqual([503, '2']);
      expect((await service.get('/user', service.admin)).status).toBe(200);
    });

    it('are limited to one for the users of a carrier, so that two of them leave a place (D30)', async () => {
      const exporter = { carrier_id: 'big', roles: ['exporter'] };
      const [first, second] = [await service.loginAs(exporter), await service.loginAs(exporter)];
      expect((await begin('format=csv', first.token)).statusCode).toBe(200);
      expect((await begin('format=csv', second.token)).statusCode).toBe(429);
      expect((await begin()).statusCode).toBe(200);
    });

    it('break the connection when the database fails, so that no file looks complete', async () => {
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
});
