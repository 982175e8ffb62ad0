import { execFile } from 'node:child_process';
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { promises as dns } from 'node:dns';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { createCertificate } from '../support/network/tls-proxy';
import { until } from '../support/until';
import { WebhookTransport } from '../../src/webhooks/webhook-transport';

/** Sends one kind of response. Endless responses end with their connection. */
type Answer = (socket: Socket) => void;

const respond =
  (head: string, body: string | Buffer = '') =>
  (socket: Socket) => {
    socket.write(`HTTP/1.1 ${head}\r\n\r\n`);
    socket.end(body);
  };
const repeat = (head: string, text: string, everyMs: number) => (socket: Socket) => {
  socket.write(head);
  const timer = setInterval(() => socket.write(text), everyMs);
  socket.once('close', () => clearInterval(timer));
};
const flood = (socket: Socket) => {
  socket.write('HTTP/1.1 200 OK\r\n\r\n');
  const chunk = Buffer.alloc(65_536, 'x');
  const more = () => {
    while (socket.writable && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
};
const answers: Record<string, Answer> = {
  '/ok': respond('200 OK\r\ncontent-length: 4', 'fine'),
  '/created': respond('201 Created'),
  '/gone': respond('410 Gone\r\ncontent-length: 0'),
  '/text': respond('200 OK', Buffer.from('a\0b\xff', 'latin1')),
  '/redirect': respond('302 Found\r\nlocation: /secret\r\ncontent-length: 0'),
  '/redirect-keeping-body': respond('308 Permanent Redirect\r\nlocation: http://127.0.0.2/\r\ncontent-length: 0'),
  '/refresh': respond('200 OK\r\nrefresh: 0; url=/secret\r\nlink: </secret>; rel=preload\r\ncontent-length: 0'),
  '/secret': respond('200 OK\r\ncontent-length: 6', 'secret'),
  '/silent': () => undefined,
  '/slow-head': repeat('HTTP/1.1 200 OK\r\nx: ', 'x', 20),
  '/slow-body': repeat('HTTP/1.1 200 OK\r\n\r\n', 'x', 20),
  '/endless-hints': repeat('', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n', 5),
  '/never-ending': repeat('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf', '', 1_000),
  '/endless': flood,
  '/bomb': respond('200 OK\r\ncontent-encoding: gzip', gzipSync(Buffer.alloc(10_000_000))),
  '/closed': (socket) => socket.destroy(),
  '/reset': (socket) => socket.resetAndDestroy(),
  '/cut-head': (socket) => socket.end('HTTP/1.1 200 OK\r\nx: '),
  '/cut-body': respond('200 OK\r\ncontent-length: 10', 'half'),
  '/upgrade': respond('101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade'),
  '/no-http': (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'),
  '/huge-header': respond(`200 OK\r\nx: ${'x'.repeat(70_000)}`),
  '/two-lengths': respond('200 OK\r\ncontent-length: 1\r\ncontent-length: 2', 'x'),
};

const requests: string[] = [];
const queries: string[] = [];
/** number of answers for `late.test` */
let late = 0;
const open = new Set<Socket>();
let connections = 0;
/** IPv4 and IPv6 addresses of a name: one list per query, the last list for all further queries. */
const names: Record<string, { A?: string[][]; AAAA?: string[] | 'silent' } | 'silent'> = {
  'local.test': { A: [['127.0.0.1']] },
  'private.test': { A: [['10.0.0.5']] },
  'metadata.test': { A: [['169.254.169.254']] },
  'two.test': { A: [['127.0.0.1', '127.0.0.2']] },
  'both.test': { A: [['127.0.0.1']], AAAA: ['00000000000000000000000000000001'] },
  'mapped.test': { AAAA: ['00000000000000000000ffff7f000001'] },
  'nat64.test': { AAAA: ['0064ff9b00000000000000007f000001'] },
  'changing.test': { A: [['127.0.0.1'], ['127.0.0.2']] },
  'public.test': { A: [['93.184.216.34']] },
  'late.test': { A: [['127.0.0.1']] },
  'half.test': { A: [['127.0.0.1']], AAAA: 'silent' },
  'silent.test': 'silent',
};
const transport = new WebhookTransport({ WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.1'] });
const servers: Server[] = [];
const nameServer = createSocket('udp4');
const systemServers = dns.getServers();
let port = 0;

beforeAll(async () => {
  for (const host of ['127.0.0.1', '127.0.0.2']) {
    const server = createServer((socket) => {
      connections += 1;
      open.add(socket.on('error', () => undefined).once('close', () => open.delete(socket)));
      socket.once('data', (data) => {
        requests.push(`${host} ${data.toString('latin1')}`);
        (answers[data.toString('latin1').split(' ')[1] ?? ''] ?? respond('404 Not Found'))(socket);
      });
    }).listen(port, host);
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
    servers.push(server);
  }
  dns.setServers([await startNameServer(nameServer)]);
});

beforeEach(() => {
  requests.length = 0;
  queries.length = 0;
});

// No answer may keep a connection open.
afterEach(async () => {
  for (const socket of open) await new Promise((resolve) => socket.once('close', resolve));
});

afterAll(() => {
  dns.setServers(systemServers);
  nameServer.close();
  for (const server of servers) server.close();
});

const post = (path: string, host = '127.0.0.1', limitMs?: number) =>
  transport.post(`http://${host}:${port}${path}`, { 'content-type': 'application/json' }, '{"ä":1}', limitMs);

it('sends the body and the headers, and returns status, response and duration', async () => {
  expect(await post('/ok')).toEqual({ status: 200, answer: 'fine', duration_ms: expect.any(Number) as number });
  const [head = '', body] = (requests[0] ?? '').split('\r\n\r\n');
  expect(Buffer.from(body ?? '', 'latin1').toString()).toBe('{"ä":1}');
  expect(head.split('\r\n').sort()).toEqual([
    '127.0.0.1 POST /ok HTTP/1.1',
    'Connection: close',
    `Host: 127.0.0.1:${port}`,
    'accept-encoding: identity',
    'content-length: 8',
    'content-type: application/json',
    'user-agent: carrier-identity',
  ]);
});

it('returns text without NUL and invalid UTF-8, which the database could not store', async () => {
  expect(await post('/text')).toMatchObject({ status: 200, answer: 'ab\ufffd' });
});

it.each([
  ['/created', { status: 201, answer: '' }],
  ['/gone', { status: 410 }],
  ['/redirect', { status: 302 }],
  ['/redirect-keeping-body', { status: 308 }],
  ['/refresh', { status: 200 }],
])('sends one request to %s, and follows nothing (W3)', async (path, outcome) => {
  expect(await post(path)).toMatchObject(outcome);
  expect(requests).toEqual([expect.stringContaining(`POST ${path} `)]);
});

it.each(['/silent', '/slow-head', '/slow-body', '/endless-hints', '/never-ending'])(
  'gives up on %s at the time limit, and closes the connection (W5)',
  async (path) => {
    const answer = await post(path, '127.0.0.1', 300);
    expect(answer).toMatchObject({ error: 'timeout' });
    expect(answer.duration_ms).toBeGreaterThanOrEqual(290);
    expect(answer.duration_ms).toBeLessThan(10_000);
  },
);

it('limits a request to 10 seconds (W5)', async () => {
  const timer = jest.spyOn(globalThis, 'setTimeout');
  await post('/ok');
  expect(timer.mock.calls.map(([, ms]) => ms)).toEqual([10_000]);
  timer.mockRestore();
});

it('reads 16 KiB of an endless response, and closes the connection (W5)', async () => {
  expect(await post('/endless')).toMatchObject({ status: 200, answer: 'x'.repeat(16_384) });
});

it('does not decompress a response (W5)', async () => {
  const outcome = await post('/bomb');
  if (!('answer' in outcome)) throw new Error(outcome.error);
  expect(outcome.status).toBe(200);
  expect(outcome.answer.charCodeAt(0)).toBe(0x1f);
  expect(outcome.answer.length).toBeLessThanOrEqual(16_384);
});

it.each([
  ['/closed', 'connection_failed'],
  ['/reset', 'connection_failed'],
  ['/cut-head', 'connection_failed'],
  ['/cut-body', 'connection_failed'],
  ['/upgrade', 'answer_invalid'],
  ['/no-http', 'answer_invalid'],
  ['/huge-header', 'answer_invalid'],
  ['/two-lengths', 'answer_invalid'],
])('reports %s as %s (W7)', async (path, error) => {
  expect(await post(path)).toMatchObject({ error });
});

it('reports a closed port as connection_failed (W7)', async () => {
  const unused = createServer().listen(0, '127.0.0.1');
  await once(unused, 'listening');
  const { port: closed } = unused.address() as AddressInfo;
  await once(unused.close(), 'close');
  expect(await transport.post(`http://127.0.0.1:${closed}/`, {}, '')).toMatchObject({ error: 'connection_failed' });
});

it.each([
  ['127.0.0.2', 'address_forbidden'],
  ['2130706434', 'address_forbidden'],
  ['[::1]', 'address_forbidden'],
  ['[::ffff:127.0.0.1]', 'address_forbidden'],
  ['[::ffff:127.0.0.2]', 'address_forbidden'],
  ['[64:ff9b::7f00:1]', 'address_forbidden'],
  ['0.0.0.0', 'address_forbidden'],
  ['169.254.169.254', 'address_forbidden'],
  ['user@127.0.0.1', 'address_forbidden'],
])('does not connect to the literal address %s: %s (W1)', async (host, error) => {
  expect(await post('/secret', host)).toMatchObject({ error });
  expect(requests).toEqual([]);
});

it.each([
  ['private.test', 'address_forbidden'],
  ['metadata.test', 'address_forbidden'],
  ['two.test', 'address_forbidden'],
  ['both.test', 'address_forbidden'],
  ['mapped.test', 'address_forbidden'],
  ['nat64.test', 'address_forbidden'],
  ['public.test', 'address_forbidden'],
  ['missing.test', 'dns_failed'],
  ['localhost', 'dns_failed'],
  ['silent.test', 'timeout'],
])('does not connect to the name %s: %s (W2)', async (host, error) => {
  expect(await post('/secret', host, 1_000)).toMatchObject({ error });
  expect(requests).toEqual([]);
});

it('connects to the checked address even if the name changes afterwards (W2)', async () => {
  expect(await post('/ok', 'changing.test')).toMatchObject({ status: 200 });
  expect(queries.filter((query) => query === 'changing.test A')).toHaveLength(1);
  expect(await post('/ok', 'changing.test')).toMatchObject({ error: 'address_forbidden' });
  expect(requests).toEqual([expect.stringContaining(`127.0.0.1 POST /ok HTTP/1.1\r\n`)]);
  expect(requests[0]).toContain(`Host: changing.test:${port}\r\n`);
});

it.each(['late.test', 'half.test'])('does not connect to %s after the time limit (W5)', async (host) => {
  const before = connections;
  expect(await post('/secret', host, 50)).toMatchObject({ error: 'timeout' });
  if (host === 'late.test') await until(() => late === 2);
  expect(await post('/ok', 'local.test')).toMatchObject({ status: 200 });
  expect(connections).toBe(before + 1);
});

describe('with TLS', () => {
  const directory = mkdtempSync(join(tmpdir(), 'carrier-identity-webhooks-'));
  const { key, cert, certificate } = createCertificate(directory);
  const notTrusted = { error: 'tls_failed' };
  const received: string[] = [];
  const server = createTlsServer({ key, cert }, (_request, response) => {
    received.push('request');
    response.end('fine');
  });
  let tlsPort = 0;

  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    tlsPort = (server.address() as AddressInfo).port;
  });
  afterAll(() => {
    server.close();
    rmSync(directory, { recursive: true });
  });

  it.each(['127.0.0.1', 'local.test'])('sends nothing to %s, whose certificate is not trusted (W6)', async (host) => {
    expect(await transport.post(`https://${host}:${tlsPort}/`, {}, 'x')).toMatchObject(notTrusted);
    expect(received).toEqual([]);
  });

  it.each<[string, Record<string, string>, object]>([
    ['reaches a target whose certificate the operator trusts', { NODE_EXTRA_CA_CERTS: certificate }, { status: 200 }],
    ['verifies certificates even if Node.js is configured not to', { NODE_TLS_REJECT_UNAUTHORIZED: '0' }, notTrusted],
  ])('%s (W6)', async (_title, env, outcome) => {
    const program = `
      const { WebhookTransport } = require('./dist/src/webhooks/webhook-transport');
      const transport = new WebhookTransport({ WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.1'] });
      transport.post('https://127.0.0.1:${tlsPort}/', {}, 'x').then((answer) => console.log(JSON.stringify(answer)));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], { env });
    expect(JSON.parse(stdout)).toMatchObject(outcome);
  });

  it('reports a target that does not speak TLS as tls_failed (W6)', async () => {
    expect(await transport.post(`https://127.0.0.1:${port}/ok`, {}, 'x')).toMatchObject({ error: 'tls_failed' });
  });
});

/** Starts a name server with the addresses of `names`, and returns its address. */
async function startNameServer(server: UdpSocket): Promise<string> {
  server.on('message', (query, { port: client, address }) => {
    let end = 12;
    const labels: string[] = [];
    for (let length = query.readUInt8(end); length > 0; length = query.readUInt8(end)) {
      labels.push(query.toString('latin1', end + 1, end + 1 + length));
      end += length + 1;
    }
    const question = query.subarray(12, end + 5);
    const type = query.readUInt16BE(end + 1) === 1 ? 'A' : 'AAAA';
    const name = labels.join('.').toLowerCase();
    queries.push(`${name} ${type}`);
    const entry = names[name];
    if (entry === 'silent' || (type === 'AAAA' && entry?.AAAA === 'silent')) return;
    const lists = entry?.A ?? [];
    const found =
      type === 'A'
        ? ((lists.length > 1 ? lists.shift() : lists[0]) ?? []).map((ip) => Buffer.from(ip.split('.').map(Number)))
        : [...(entry?.AAAA ?? [])].map((hex) => Buffer.from(hex, 'hex'));
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(entry === undefined ? 0x8183 : 0x8180, 2);
    head.fill(0, 6).writeUInt16BE(found.length, 6);
    const records = found.map((data) =>
      Buffer.concat([Buffer.from([0xc0, 12, 0, type === 'A' ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, data.length]), data]),
    );
    const send = () => server.send(Buffer.concat([head, question, ...records]), client, address);
    if (name !== 'late.test') return send();
    setTimeout(() => {
      send();
      late += 1;
    }, 150);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${server.address().port}`;
}
