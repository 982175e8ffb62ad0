import { createGzip, constants, deflateSync, brotliCompressSync, gzipSync } from 'node:zlib';
import { once } from 'node:events';
import { document } from '../../support/document';
import { until } from '../../support/until';
import { RawConnection, requestHead } from '../../support/raw-connection';
import { rawRequest, statusOf } from '../../support/raw-request';
import { TestService } from '../../support/service';

const base = 'https://identity.example.net';
const mebibyte = 1_048_576;
const bombMebibytes = 256;
const bodyMax = 65_536;

/** Returns zeros in gzip form, about a thousandth of their size. */
async function bomb(mebibytes: number): Promise<Buffer> {
  const gzip = createGzip({ level: constants.Z_BEST_COMPRESSION });
  const chunks: Buffer[] = [];
  gzip.on('data', (chunk: Buffer) => chunks.push(chunk));
  for (let written = 0; written < mebibytes; written++)
    if (!gzip.write(Buffer.alloc(mebibyte))) await once(gzip, 'drain');
  gzip.end();
  await once(gzip, 'end');
  return Buffer.concat(chunks);
}

/** Returns a raw response without the parts that differ between requests. */
function sameForEveryRequest(answer: string): string {
  return answer
    .replace(/^(date|x-request-id): .*\r\n/gim, '')
    .replace(/"request_id":"[^"]*"/, '')
    .replace(/"expires_in":\d+/, '');
}

describe('claims of a client about the transport', () => {
  let service: TestService;
  let port: number;
  let token: string;
  let neverSent: RawConnection;

  beforeAll(async () => {
    service = await TestService.start({ PUBLIC_URL: base, TRUST_PROXY: '127.0.0.0/8' });
    ({ token } = service.admin);
    ({ port } = await service.listen());
    neverSent = await RawConnection.open(port);
    const headers = { 'content-type': 'application/json', 'content-length': '10', expect: '100-continue' };
    await neverSent.send(requestHead('POST', '/auth/login', headers));
  });
  afterAll(() => service.close());

  const authorized = () => ({ authorization: `Bearer ${token}` });
  const ask = (method: string, path: string, headers: Record<string, string>, body: string | Buffer = '') =>
    rawRequest(
      port,
      Buffer.concat([
        Buffer.from(
          requestHead(method, path, {
            connection: 'close',
            'content-length': String(Buffer.byteLength(body)),
            ...headers,
          }),
        ),
        Buffer.from(body),
      ]),
    );

  it('responds to plain HTTP itself and redirects no path to https (H14)', async () => {
    const paths = Object.keys(document.paths).map((path) => path.replace(/\{[^}]+\}/, 'x'));
    expect(paths.length).toBeGreaterThan(30);
    const proxied = { 'x-forwarded-proto': 'http', forwarded: 'proto=http', 'upgrade-insecure-requests': '1' };
    const found: string[] = [];
    for (const path of [...paths, '/', '/docs', '/nowhere'])
      for (const method of ['GET', 'POST'])
        for (const headers of [{}, proxied]) {
          const answer = await ask(method, path, headers);
          const status = statusOf(answer);
          if (status < 200 || (status >= 300 && status < 400) || /^location:/im.test(answer))
            found.push(`${method} ${path} → ${status}`);
        }
    expect(found).toEqual([]);
  });

  it('closes a connection that begins with a TLS handshake (H14)', async () => {
    const clientHello = Buffer.from(
      '16030100750100007103030000000000000000000000000000000000000000000000000000000000000000',
      'hex',
    );
    expect([0, 400]).toContain(statusOf(await rawRequest(port, clientHello)));
  });

  it.each(['evil.test', 'evil.test:8080', 'admin.internal', '169.254.169.254', '[::1]', 'localhost:1'])(
    'returns the same data for Host: %s (H15)',
    async (host) => {
      for (const [method, path, headers] of [
        ['GET', '/user', authorized()],
        ['GET', '/user', {}],
        ['GET', '/nowhere', {}],
        ['GET', '/.well-known/jwks.json', {}],
        ['GET', '/docs/openapi.json', {}],
        ['POST', '/auth/check-token', { 'content-type': 'application/json' }],
      ] as const) {
        const body = method === 'POST' ? JSON.stringify({ token }) : '';
        const usual = await ask(method, path, { ...headers, host: 'identity.example.net' }, body);
        const strange = await ask(method, path, { ...headers, host }, body);
        expect(sameForEveryRequest(strange)).toBe(sameForEveryRequest(usual));
        expect(strange).not.toContain(host.split(':')[0] === 'localhost' ? 'localhost' : host);
      }
    },
  );

  it('uses no unknown Host in the Location of a created user or in the mailed link (H15)', async () => {
    const body = JSON.stringify({
      user_type: 'carrier',
      carrier_id: 'c1',
      name: 'invited',
      email: 'invited@example.com',
    });
    const headers = { ...authorized(), 'content-type': 'application/json', host: 'evil.test' };
    const answer = await ask('POST', '/user/create', headers, body);
    expect(statusOf(answer)).toBe(201);
    expect(answer).not.toContain('evil.test');
    const { source, token: link } = await service.mailbox.take('invited@example.com');
    expect(source).not.toContain('evil.test');
    expect(source).toContain(`${base}/auth/reset/${link}`);
  });

  it('never inflates a compressed body, and its memory stays flat under gzip bombs (H16)', async () => {
    const user = (name: string) =>
      JSON.stringify({ user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com` });
    const csv = (name: string) => `user_type,carrier_id,name,email\ncarrier,c1,${name},${name}@example.com\n`;
    const large = await bomb(bombMebibytes);
    const small = await bomb(Math.floor((bodyMax / large.length) * bombMebibytes * 0.9));
    expect([large.length > bodyMax, small.length < bodyMax]).toEqual([true, true]);
    const encodings: [string, (text: string | Buffer) => Buffer][] = [
      ['gzip', gzipSync],
      ['x-gzip', gzipSync],
      ['GZIP', gzipSync],
      ['deflate', deflateSync],
      ['br', brotliCompressSync],
      ['gzip, gzip', (text) => gzipSync(gzipSync(text))],
      ['identity, gzip', gzipSync],
    ];
    const peak = process.resourceUsage().maxRSS;
    const found: string[] = [];
    for (const [index, [encoding, compress]] of encodings.entries())
      for (const [path, type, body] of [
        ['/user/create', 'application/json', compress(user(`packed-${index}`))],
        ['/auth/login', 'application/json', compress('{"login":"admin","password":"x"}')],
        ['/auth/check-token', 'application/json', compress(JSON.stringify({ token }))],
        ['/user/import', 'text/csv', compress(csv(`packed-${index}`))],
        ['/user/import', 'text/csv', large],
        ['/user/create', 'application/json', small],
      ] as const) {
        const answer = await ask(
          'POST',
          path,
          { ...authorized(), 'content-type': type, 'content-encoding': encoding },
          body,
        );
        if (![400, 415].includes(statusOf(answer)))
          found.push(`${path} ${encoding} ${body.length} → ${answer.slice(0, 300)}`);
      }
    expect(found).toEqual([]);
    expect(await service.rows(`select name from users where name like 'packed%'`)).toEqual([]);
    // In KiB: half the size of one inflated bomb.
    expect(process.resourceUsage().maxRSS - peak).toBeLessThan((bombMebibytes / 2) * 1_024);
  });

  it.each([
    ['h2c', { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAoAAAAAIAAAAA' }],
    [
      'websocket',
      { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'eA==', 'sec-websocket-version': '13' },
    ],
    ['TLS/1.0', { connection: 'Upgrade', upgrade: 'TLS/1.0' }],
    ['HTTP/3.0', { connection: 'Upgrade', upgrade: 'HTTP/3.0, h2c' }],
  ])(
    'responds to a request for an upgrade to %s as if it had none, on the same connection (H17)',
    async (_protocol, headers) => {
      const connection = await RawConnection.open(port);
      const body = JSON.stringify({ token });
      const json = { 'content-type': 'application/json', 'content-length': String(body.length) };
      const requests = [
        requestHead('GET', '/health/live', headers),
        requestHead('POST', '/auth/check-token', { ...headers, ...json }) + body,
        requestHead('GET', '/health/live', { connection: 'close' }),
      ];
      for (const [index, request] of requests.entries()) {
        await connection.send(request);
        await until(async () => connection.answers > index, 10_000);
      }
      await connection.ended;
      expect(connection.received.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 200']);
      expect(connection.received).not.toMatch(/^(upgrade|http2-settings):/im);
    },
  );

  it('rejects HTTP/2 with prior knowledge, CONNECT and unknown versions of HTTP (H17)', async () => {
    for (const bytes of [
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
      'CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n',
      'GET /health/live HTTP/9.9\r\nHost: x\r\n\r\n',
    ])
      expect([bytes.slice(0, 30), [0, 400, 404, 405, 505].includes(statusOf(await rawRequest(port, bytes)))]).toEqual([
        bytes.slice(0, 30),
        true,
      ]);
    // Node accepts these versions and responds in its own.
    for (const request of ['GET /health/live HTTP/2.0\r\nHost: x\r\n\r\n', 'GET /health/live\r\n\r\n'])
      expect(await rawRequest(port, request)).toMatch(/^HTTP\/1\.1 [^]*^connection: close\r$/im);
  });

  it('responds to Expect: 100-continue before the body and rejects other expectations (H17)', async () => {
    const body = JSON.stringify({ token });
    const json = { 'content-type': 'application/json', 'content-length': String(body.length) };
    const connection = await RawConnection.open(port);
    const continued = once(connection.socket, 'data');
    await connection.send(
      requestHead('POST', '/auth/check-token', { ...json, expect: '100-continue', connection: 'close' }),
    );
    await continued;
    expect(connection.received).toMatch(/^HTTP\/1\.1 100 /);
    await connection.send(body);
    await connection.ended;
    expect(connection.received).toMatch(/^HTTP\/1\.1 200 /m);
    for (const expectation of ['200-ok', 'x'.repeat(1_000)])
      expect([400, 417]).toContain(
        statusOf(await ask('POST', '/auth/check-token', { ...json, expect: expectation }, body)),
      );
  });

  it('ends a request whose body was announced with Expect: 100-continue but never sent (H17)', async () => {
    await neverSent.ended;
    expect(neverSent.received).toMatch(/^HTTP\/1\.1 100 [^]*^HTTP\/1\.1 400 /m);
  });
});
