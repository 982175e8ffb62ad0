import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { document } from '../support/contract/document';
import { chunk, RawConnection, requestHead } from '../support/network/raw-connection';
import { rawRequest, statusOf } from '../support/network/raw-request';
import { TestService } from '../support/service';
import { until } from '../support/until';

const base = 'https://identity.example.net';
const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
type Headers = Record<string, string | undefined>;
const problemType = 'application/problem+json; charset=utf-8';

const header = 'user_type,name,email,carrier_id\n';
const row = (name: string) => `carrier,${name},${name}@example.com,c1\n`;
const rows = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => row(`${prefix}-${i}`)).join('');
const whole = (text: string) => text;
/** More data than all buffers between client and service hold. */
const parts = 300;

/** Returns the status, type, code and parameter of a rejection. */
function problemOf(answer: string): { status: number; type: string | undefined; code: unknown; parameter: unknown } {
  const final = answer.replace(interim, '');
  const [head = '', body = ''] = final.split('\r\n\r\n');
  const problem = (body.startsWith('{') ? JSON.parse(body) : {}) as {
    code?: string;
    errors?: { parameter?: string }[];
  };
  const type = /^content-type: (.+)$/im.exec(head)?.[1];
  return { status: statusOf(final), type, code: problem.code, parameter: problem.errors?.[0]?.parameter };
}

/** Returns a raw response without the parts that differ between requests. */
function sameForEveryRequest(answer: string): string {
  return answer
    .replace(/^(date|x-request-id): .*\r\n/gim, '')
    .replace(/"request_id":"[^"]*"/, '')
    .replace(/"expires_in":\d+/, '');
}

let service: TestService;
let token: string;
/** A connection whose request announces a body that never arrives. Its deadline is 15 s. */
let neverSent: RawConnection;

beforeAll(async () => {
  service = await TestService.start({
    PUBLIC_URL: base,
    TRUST_PROXY: '127.0.0.0/8',
    LOG_LEVEL: 'debug',
    CONSOLE: 'false',
  });
  ({ token } = service.admin);
  neverSent = await RawConnection.open(service.port);
  const headers = { 'content-type': 'application/json', 'content-length': '10', expect: '100-continue' };
  await neverSent.send(requestHead('POST', '/auth/login', headers));
});
afterAll(() => service.close());

/** Sends a request with a body of the given length. */
const ask = (method: string, path: string, headers: Headers = {}, body: string | Buffer = ''): Promise<string> => {
  const all = {
    authorization: `Bearer ${token}`,
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
  };
  const head = requestHead(method, path, { ...all, ...headers });
  return rawRequest(service.port, Buffer.concat([Buffer.from(head), Buffer.from(body)]));
};
/** Sends a token check, which the service handles without the framework if it knows the token. */
const checkToken = async (headers: Headers = {}): Promise<string> => {
  await service.post('/auth/check-token', { body: { token } });
  const own = { authorization: undefined, 'content-type': 'application/json' };
  return ask('POST', '/auth/check-token', { ...own, ...headers }, JSON.stringify({ token }));
};

/** Requests on each way through the service. */
const ways: [what: string, status: number, send: (headers: Headers) => Promise<string>][] = [
  ['any path', 200, (headers) => ask('GET', '/user', headers)],
  ['an unknown path', 404, (headers) => ask('GET', '/nowhere', headers)],
  ['a known token', 200, checkToken],
];

describe('the scheme and the host of a request', () => {
  it('is never redirected from plain HTTP to https (H14)', async () => {
    const paths = Object.keys(document.paths).map((path) => path.replace(/\{[^}]+\}/, 'x'));
    expect(paths.length).toBeGreaterThan(30);
    const proxied = { 'x-forwarded-proto': 'http', forwarded: 'proto=http', 'upgrade-insecure-requests': '1' };
    const found: string[] = [];
    for (const url of [...paths, '/', '/docs', '/nowhere'])
      for (const method of ['GET', 'POST']) {
        const { statusCode, headers } = await service.inject({ method, url, headers: proxied });
        const isRedirected = (statusCode >= 300 && statusCode < 400) || headers.location !== undefined;
        if (isRedirected) found.push(`${method} ${url} → ${statusCode}`);
      }
    expect(found).toEqual([]);
    const clientHello = Buffer.from(`16030100750100007103030${'0'.repeat(65)}`, 'hex');
    expect([0, 400]).toContain(statusOf(await rawRequest(service.port, clientHello)));
  });

  it('do not change a response (H15)', async () => {
    const ofPath = (path: string) => (headers: Headers) => ask('GET', path, headers);
    const anonymous = (headers: Headers) => ask('GET', '/user', { authorization: undefined, ...headers });
    const paths = ['/user', '/nowhere', '/.well-known/jwks.json', '/docs/openapi.json'];
    for (const send of [...paths.map(ofPath), anonymous, checkToken]) {
      const usual = await send({ host: 'identity.example.net' });
      for (const host of ['evil.test:8080', '169.254.169.254', '[::1]', 'localhost']) {
        const strange = await send({ host });
        expect(sameForEveryRequest(strange)).toBe(sameForEveryRequest(usual));
        expect(strange).not.toContain(host);
      }
    }
  });

  it('do not appear in the Location of a created user or in the mailed link (H15)', async () => {
    const fields = { user_type: 'carrier', carrier_id: 'c1', name: 'invited', email: 'invited@example.com' };
    const headers = { 'content-type': 'application/json', host: 'evil.test' };
    const answer = await ask('POST', '/user/create', headers, JSON.stringify(fields));
    expect(statusOf(answer)).toBe(201);
    expect(answer).not.toContain('evil.test');
    const { source, token: link } = await service.mailbox.take('invited@example.com');
    expect(source).not.toContain('evil.test');
    expect(source).toContain(`${base}/auth/reset/${link}`);
  });

  it('can be missing in HTTP/1.0 (H15)', async () => {
    const head = `GET /user HTTP/1.0\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    expect(statusOf(await rawRequest(service.port, head))).toBe(200);
    const body = JSON.stringify({ token });
    const type = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
    const check = `POST /auth/check-token HTTP/1.0\r\n${type}\r\n\r\n${body}`;
    expect(statusOf(await rawRequest(service.port, check))).toBe(200);
  });
});

describe('Host, Expect and Content-Encoding', () => {
  it.each(ways)('are checked on the way of %s (H15, H16, H17)', async (_what, status, send) => {
    const problem = { status: 400, type: problemType, code: 'request.invalid' };
    expect(problemOf(await send({ host: undefined }))).toEqual({ ...problem, parameter: 'Host' });
    for (const expectation of ['200-ok', 'foo, 100-continue', '', 'x'.repeat(1_000)])
      expect(problemOf(await send({ expect: expectation }))).toEqual({ ...problem, parameter: 'Expect' });
    expect((await send({ expect: '100-continue' })).replace(interim, '')).toMatch(`HTTP/1.1 ${status} `);
    for (const encoding of ['Identity', 'identity'])
      expect(statusOf(await send({ 'content-encoding': encoding }))).toBe(status);
  });

  it.each<[encoding: string, compress: (text: string | Buffer) => Buffer]>([
    ['x-gzip', gzipSync],
    ['GZIP', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['identity, gzip', gzipSync],
    ['', (text) => Buffer.from(text)],
  ])('reject a body with the encoding "%s" after the guard, without inflating it (H16)', async (encoding, compress) => {
    const user = '{"user_type":"carrier","carrier_id":"c1","name":"packed","email":"packed@example.com"}';
    const csv = 'user_type,carrier_id,name,email\ncarrier,c1,packed,packed@example.com\n';
    // Inflates to a thousand times its size.
    const bomb = gzipSync(Buffer.alloc(40 * 1_048_576));
    for (const [path, type, body] of [
      ['/user/create', 'application/json', compress(user)],
      ['/user/import', 'text/csv', compress(csv)],
      ['/user/import', 'text/csv', bomb],
    ] as const) {
      const headers = { 'content-type': type, 'content-encoding': encoding };
      const answer = await ask('POST', path, headers, body);
      const code = 'request.unsupported_media_type';
      expect(problemOf(answer)).toEqual({ status: 415, type: problemType, code, parameter: undefined });
      expect(answer).toMatch(/^accept-encoding: identity\r$/im);
      expect(statusOf(await ask('POST', path, { ...headers, authorization: undefined }, body))).toBe(401);
    }
    expect(statusOf(await checkToken({ 'content-encoding': encoding }))).toBe(415);
    expect(await service.rows(`select name from users where name = 'packed'`)).toEqual([]);
  });

  it('have no effect without a body (H16)', async () => {
    expect(statusOf(await ask('GET', '/user', { 'content-encoding': 'gzip' }))).toBe(200);
  });
});

describe('requests for another protocol', () => {
  const websocket = { upgrade: 'websocket', 'sec-websocket-key': 'eA==', 'sec-websocket-version': '13' };
  it.each([
    ['h2c', { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAoAAAAAIAAAAA' }],
    ['websocket', { connection: 'Upgrade', ...websocket }],
  ])('are served as usual on the same connection: an upgrade to %s (H17)', async (_protocol, headers) => {
    const connection = await RawConnection.open(service.port);
    const body = JSON.stringify({ token });
    const json = { 'content-type': 'application/json', 'content-length': String(body.length) };
    const requests = [
      requestHead('GET', '/health/live', headers),
      requestHead('POST', '/auth/check-token', { ...headers, ...json }) + body,
      requestHead('GET', '/health/live', { connection: 'close' }),
    ];
    for (const [index, request] of requests.entries()) {
      await connection.send(request);
      await until(() => connection.answers > index);
    }
    await connection.ended;
    expect(connection.received.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 200']);
    expect(connection.received).not.toMatch(/^(upgrade|http2-settings):/im);
  });

  it.each([
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
    'CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n',
    'GET /health/live HTTP/9.9\r\nHost: x\r\n\r\n',
  ])('are rejected: HTTP/2 with prior knowledge, CONNECT and unknown versions (%#) (H17)', async (bytes) => {
    expect([0, 400, 404, 405, 505]).toContain(statusOf(await rawRequest(service.port, bytes)));
  });

  it.each(['GET /health/live HTTP/2.0\r\nHost: x\r\n\r\n', 'GET /health/live\r\n\r\n'])(
    'that Node accepts get a response in HTTP/1.1 on a connection that closes (%#) (H17)',
    async (bytes) => {
      expect(await rawRequest(service.port, bytes)).toMatch(/^HTTP\/1\.1 [^]*^connection: close\r$/im);
    },
  );
});

describe('Expect: 100-continue', () => {
  it('is confirmed before the body (H17)', async () => {
    const body = JSON.stringify({ token });
    const headers = { 'content-type': 'application/json', 'content-length': String(body.length), connection: 'close' };
    const connection = await RawConnection.open(service.port);
    const continued = once(connection.socket, 'data');
    await connection.send(requestHead('POST', '/auth/check-token', { ...headers, expect: '100-continue' }));
    await continued;
    expect(connection.received).toMatch(/^HTTP\/1\.1 100 /);
    await connection.send(body);
    await connection.ended;
    expect(connection.received).toMatch(/^HTTP\/1\.1 200 /m);
  });

  it('ends with 400 at the deadline if the body is never sent (H17)', async () => {
    await neverSent.ended;
    expect(neverSent.received).toMatch(/^HTTP\/1\.1 100 [^]*^HTTP\/1\.1 400 /m);
  });
});

describe('large heads', () => {
  const big = (length: number) => ({ 'x-big': 'x'.repeat(length) });

  it('are accepted up to the limit, rejected beyond it, and do not stop the service (H11)', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`x-${index}`, 'y'.repeat(80)]));
    expect(statusOf(await ask('GET', '/health/live', big(16_000)))).toBe(200);
    expect(statusOf(await ask('GET', '/health/live', big(100_000)))).toBe(431);
    expect([400, 431]).toContain(statusOf(await ask('GET', '/health/live', many)));
    expect(statusOf(await ask('GET', `/user/list?name=${'x'.repeat(10_000)}`))).toBe(400);
    expect(statusOf(await ask('GET', `/health/live?${'x'.repeat(100_000)}`))).toBe(431);
    expect(statusOf(await ask('GET', '/health/live'))).toBe(200);
  });

  it('and malformed request lines are rejected with a problem that no cache stores (H11)', async () => {
    for (const refusal of [await ask('GET', '/health/live', big(100_000)), await ask('GET', '/health live')]) {
      const [head = '', body = ''] = refusal.split('\r\n\r\n');
      expect(head).toMatch(/^content-type: application\/problem\+json; charset=utf-8\r?$/m);
      expect(head).toMatch(/^cache-control: no-store\r?$/m);
      expect(JSON.parse(body)).toMatchObject({
        status: statusOf(refusal),
        type: expect.stringContaining('/docs/errors/request.'),
        request_id: expect.any(String),
      });
    }
  });
});

describe('bodies that break off', () => {
  const types = { json: 'application/json', csv: 'text/csv' };
  const framings = {
    'content-length': { headers: { 'content-length': '4000' }, begin: (text: string) => text },
    chunked: { headers: { 'transfer-encoding': 'chunked' }, begin: chunk },
  };

  it.each(['reset', 'end'] as const)('log no warning and no 5xx if clients %s the connection (F18)', async (how) => {
    const from = service.stdout.length;
    const lines = () =>
      service.stdout
        .slice(from)
        .split('\n')
        .filter((line) => line.startsWith('{') && line.endsWith('}'))
        .map((line) => JSON.parse(line) as { level: string; reqId?: string; status?: number });
    const broken: string[] = [];
    for (const path of ['/auth/check-token', '/user/create', '/user/import', '/nowhere'])
      for (const [name, type] of Object.entries(types))
        for (const [framing, { headers, begin }] of Object.entries(framings))
          for (const authorization of [undefined, `Bearer ${token}`]) {
            const user = authorization === undefined ? 'anyone' : 'admin';
            const id = [how, path.slice(1).replace('/', '-'), name, framing, user].join('.');
            const connection = await RawConnection.open(service.port);
            const text = name === 'json' ? '{"login":"a"' : 'user_type,name,email,carrier_id\ncarrier,a,';
            const own = { 'x-request-id': id, 'content-type': type, authorization, ...headers };
            await connection.send(requestHead('POST', path, own) + begin(text));
            // A file is rejected before it is read, unless the guard allows the request.
            const isRead = name === 'json' || (path === '/user/import' && authorization !== undefined);
            if (isRead) broken.push(id);
            else await until(() => connection.status > 0);
            // A response to another request shows that the service has read the sent bytes.
            await service.get('/health/live');
            if (how === 'reset') connection.socket.resetAndDestroy();
            else connection.socket.end();
          }
    await until(() => broken.every((id) => lines().some(({ reqId }) => reqId === id)));
    const bad = lines().filter(({ level, status = 0 }) => !['info', 'debug'].includes(level) || status >= 500);
    expect(bad).toEqual([]);
  });
});

describe('uploads', () => {
  const connections: RawConnection[] = [];
  afterAll(() => connections.forEach(({ socket }) => socket.destroy()));

  const head = (headers: Headers = {}, path = '/user/import') =>
    requestHead('POST', path, {
      authorization: `Bearer ${token}`,
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
  ])('leaves nothing behind when an upload %s is cut, and frees its key (F12, F18)', async (_how, length, framed) => {
    const key = `broken-${Object.keys(length).length}`;
    const headers = { ...length, 'idempotency-key': key, 'x-request-id': key };
    const connection = await begin(head(headers) + framed(header + rows(key, 2_500)));
    await until(async () => (await receiving(key)).length === 1);
    connection.socket.resetAndDestroy();
    await until(async () => (await service.rows('select 1 from operations where request_id = $1', [key])).length === 0);
    expect(await service.rows('select 1 from operation_batches')).toEqual([]);
    expect(await usersLike(key)).toEqual([]);
    const transactions = `
      select query from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%'`;
    expect(await service.rows(transactions)).toEqual([]);
    await until(async () => (await service.rows('select 1 from idempotency_keys')).length === 0);
    const again = await service.post('/user/import', {
      token,
      body: header + row(`${key}-1`),
      headers: { 'content-type': 'text/csv', 'idempotency-key': key },
    });
    expect([again.status, again.body.changed]).toEqual([200, 1]);
    await service.rows('delete from idempotency_keys');
  });

  const json = { 'content-type': 'application/json' };
  it.each<[string, typeof whole, path: string, Headers, begins: string, status: number, code: string]>([
    ['a wrong header line, with a length', whole, '/user/import', {}, 'user_type,nonsense\n', 400, 'request.invalid'],
    ['a wrong header line, in chunks', chunk, '/user/import', {}, 'user_type,nonsense\n', 400, 'request.invalid'],
    ['no token, with a length', whole, '/user/import', { authorization: undefined }, header, 401, 'auth.token_missing'],
    ['another route, in chunks', chunk, '/user/create', {}, header, 415, 'request.unsupported_media_type'],
    ['too much JSON, in chunks', chunk, '/user/create', json, '{"name":"', 413, 'request.too_large'],
  ])(
    'delivers a rejection to a client that still sends, and ignores what follows: %s (F18)',
    async (_why, framed, path, headers, begins, status, code) => {
      const tail = 'the end\n';
      const part = 'x'.repeat(60_000) + '\n'.repeat(5_536);
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
      expect(await service.rows(`select 1 from users where name = 'smuggled'`)).toEqual([]);
    },
  );

  it('disconnects a rejected client that never stops sending (F18)', async () => {
    const connection = await begin(head({ authorization: undefined }));
    void connection.trickle(chunk('x'.repeat(1_000)), 20);
    await connection.closed;
    expect([connection.status, connection.answers]).toEqual([401, 1]);
  });

  const smugglings: [how: string, headers: Headers, body: string][] = [
    ['both lengths', { 'content-length': '5', 'Transfer-Encoding': 'chunked' }, `${chunk(header)}0\r\n\r\n`],
    ['two lengths', { 'content-length': '5', 'Content-Length': '500' }, header + row('framed-2')],
    ['a length that is none', { 'content-length': '+100' }, header + row('framed-3')],
    ['chunked not last', { 'transfer-encoding': 'chunked, identity' }, `${chunk(header)}0\r\n\r\n`],
    ['no chunk', {}, `${chunk(header)}zz\r\n${row('framed-5')}\r\n0\r\n\r\n`],
    ['a chunk that is longer than it says', {}, `3\r\n${header}\r\n0\r\n\r\n`],
  ];
  it.each(smugglings)(
    'rejects request smuggling by %s, and runs no smuggled request (H9)',
    async (_how, headers, body) => {
      const connection = await begin(head(headers) + body + smuggled());
      await connection.trickle('\r\n', 20);
      expect([connection.status, connection.answers]).toEqual([400, 1]);
      const open = `select 1 from operations where status = 'receiving'`;
      await until(async () => (await service.rows(open)).length === 0);
      expect(await service.rows(`select 1 from users where name like 'framed-%' or name = 'smuggled'`)).toEqual([]);
    },
  );

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

it('neither serves nor links to the console with CONSOLE=false', async () => {
  expect((await service.get('/')).body.links).not.toHaveProperty('console');
  const assets = readdirSync('dist/console/assets').map((name) => `/console/assets/${name}`);
  for (const url of ['/console', '/console/', '/console/users', ...assets.slice(0, 3)])
    expect([url, (await service.inject(url)).statusCode]).toEqual([url, 404]);
});
