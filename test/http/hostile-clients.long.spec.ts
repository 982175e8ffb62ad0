import { connect } from 'node:net';
import { allNaughtyStrings } from '../support/contract/naughty-strings';
import { chunk, RawConnection, requestHead } from '../support/network/raw-connection';
import { statusOf } from '../support/network/raw-request';
import { adminEmail, password, TestService } from '../support/service';

/** Fixed, so that every run sends the same requests and a failure can be reproduced. */
const seed = 20_261_122;
const requests = 4_000;
const atOnce = 16;
/** A truncated request gets no response before its deadline, so the client gives up earlier. */
const patienceMs = 1_000;

const methods = 'GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT QUERY PROPFIND get \0 GET_ '.split(' ');
const paths = `
  / /user /user/list /user/all /user/create /user/import /user/export /auth/login /auth/check-token /auth/reset/x
  /auth/email/x /auth/introspect /auth/session/list /auth/session/all /auth/key/list /role/list /audit/list
  /health/ready /docs/openapi.json /.well-known/jwks.json //user /user/%61ll /user/%00 * http://x/user ?`
  .trim()
  .split(/\s+/);
const headerNames = `
  host content-length transfer-encoding content-type content-encoding expect upgrade connection authorization
  x-auth-token x-request-id x-forwarded-for if-match idempotency-key accept origin cookie range te trailer __proto__
  constructor : x`
  .trim()
  .split(/\s+/);
const odd = [
  ...['', '0', '-1', '1e9', '99999999999999999999', 'chunked', 'chunked, identity', 'gzip', 'h2c', 'null', '"', '\0'],
  ...['\u00ff\u00fe', 'a'.repeat(9_000)],
];

/** Returns a generator of pseudo-random numbers from 0 to 1 (mulberry32). */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Makes malformed requests of every kind, half of them with a valid token. */
class Fuzzer {
  private readonly random = randomFrom(seed);
  private readonly texts = [...odd, ...allNaughtyStrings];

  constructor(private readonly token: string) {}

  next(): Buffer {
    const kind = this.random();
    if (kind < 0.3) return this.damage(this.wellFormed());
    if (kind < 0.55) return this.withOddHeader(this.wellFormed());
    if (kind < 0.9) return this.strange();
    return Buffer.from(Array.from({ length: this.below(600) }, () => this.below(256)));
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  private one<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  private authorization(): Record<string, string> {
    return this.random() < 0.5 ? { authorization: `Bearer ${this.token}` } : {};
  }

  private withBody(method: string, path: string, type: string, body: string): string {
    const headers = {
      'content-type': type,
      'content-length': String(Buffer.byteLength(body)),
      ...this.authorization(),
    };
    return requestHead(method, path, headers) + body;
  }

  private wellFormed(): Buffer {
    const fields = { user_type: 'carrier', carrier_id: 'c1', name: 'fuzzed', email: 'fuzzed@example.com' };
    const user = JSON.stringify({ ...fields, attributes: { a: [1, { b: null }] } });
    const [json, form] = ['application/json', 'application/x-www-form-urlencoded'];
    const csv = 'user_type,carrier_id,name,email\ncarrier,c1,a,a@example.com\n';
    const chunked = { 'transfer-encoding': 'chunked', 'content-type': 'text/csv', ...this.authorization() };
    return Buffer.from(
      this.one([
        this.withBody('POST', '/auth/login', json, '{"login":"unknown","password":"x"}'),
        this.withBody('POST', '/auth/check-token', json, `{"token":"${this.token}"}`),
        this.withBody('POST', '/auth/introspect', form, `token=${this.token}`),
        this.withBody('POST', '/auth/reset_email', json, '{"email":"unknown@example.com"}'),
        this.withBody('POST', `/auth/reset/${'A'.repeat(43)}`, form, 'password=x'),
        this.withBody('POST', '/user/create', json, user),
        this.withBody('PATCH', '/user/all?carrier_id=c1&dry_run=true', json, '{"attributes":{"a":1}}'),
        this.withBody('POST', '/user/import?dry_run=true', 'text/csv', csv),
        this.withBody('POST', '/user/import?dry_run=true', 'application/x-ndjson', `${user}\n${user}\n`),
        requestHead('GET', '/user/list?name_like=abc&order_by=name&count=exact&per_page=5', this.authorization()),
        requestHead('GET', '/auth/session/list?created_at_gt=2026-01-01T00:00:00Z', this.authorization()),
        requestHead('POST', '/user/import', chunked) + '5\r\nname,\r\n0\r\n\r\n',
      ]),
    );
  }

  /** Adds one header after the request line. */
  private withOddHeader(bytes: Buffer): Buffer {
    const at = bytes.indexOf('\r\n') + 2;
    const header = Buffer.from(`${this.one(headerNames)}: ${this.one(this.texts)}\r\n`);
    return Buffer.concat([bytes.subarray(0, at), header, bytes.subarray(at)]);
  }

  /** Changes, removes, repeats or inserts some bytes, or cuts the rest off. */
  private damage(bytes: Buffer): Buffer {
    let damaged = bytes;
    for (let times = 1 + this.below(4); times > 0; times--) {
      const at = this.below(damaged.length);
      const end = at + this.below(12);
      const [before, within, after] = [damaged.subarray(0, at), damaged.subarray(at, end), damaged.subarray(end)];
      const text = Buffer.from(this.one(this.texts).slice(0, 2_000));
      damaged = this.one([
        () => Buffer.concat([before, Buffer.from([this.below(256)]), damaged.subarray(at + 1)]),
        () => Buffer.concat([before, after]),
        () => Buffer.concat([before, within, within, within, after]),
        () => Buffer.concat([before, text, damaged.subarray(at)]),
        () => (this.random() < 0.3 ? before : damaged),
      ])();
    }
    return damaged;
  }

  private strange(): Buffer {
    const name = this.one(['per_page', 'cursor', 'q', '__proto__', 'a[]', '']);
    const query = this.one(['', `?${name}=${this.one(this.texts)}`]);
    const json = `{"login":"${this.one(this.texts)}"}`;
    const bodies = ['{', '[', '{"a":'.repeat(500), json, '\0'.repeat(50), 'x'.repeat(70_000)];
    const body = this.one(['', this.one(bodies)]);
    const length = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
    const headers = { ...(this.random() < 0.8 ? length : {}), ...this.authorization() };
    const head = requestHead(this.one(methods), this.one(paths) + query, headers);
    const odd = Array.from({ length: this.below(5) }, () => `${this.one(headerNames)}: ${this.one(this.texts)}\r\n`);
    return Buffer.from(head.slice(0, -2) + odd.join('') + '\r\n' + body, this.random() < 0.8 ? 'utf8' : 'latin1');
  }
}

/** Sends bytes and returns the status of the response, or 0 without a response in time. */
function send(port: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    const done = (status: number) => {
      socket.destroy();
      resolve(status);
    };
    socket.setTimeout(patienceMs, () => done(0));
    socket.on('error', () => done(0)).on('close', () => done(0));
    socket.once('data', (chunk: Buffer) => done(statusOf(chunk.toString('latin1'))));
  });
}

let service: TestService;
let ended = false;
beforeAll(async () => {
  service = await TestService.start({ LOG_LEVEL: 'warn', ACCESS_TOKEN_TTL_SECONDS: '3600' });
  void service.exit.then(() => (ended = true));
});
afterAll(() => service.close());

describe('a process under malformed requests', () => {
  it(`survives ${requests} requests from seed ${seed} without a 500, and serves all clients (O14)`, async () => {
    const fuzzer = new Fuzzer(service.admin.token);
    const statuses = new Map<number, number>();
    let left = requests;
    const work = async () => {
      while (left-- > 0 && !ended) {
        const status = await send(service.port, fuzzer.next());
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    expect({ ended, output: ended ? service.output.slice(-2_000) : '' }).toEqual({ ended: false, output: '' });
    expect([...statuses.keys()].filter((status) => status === 500)).toEqual([]);
    // Most requests are valid enough to get a response, and the statuses vary.
    expect(requests - (statuses.get(0) ?? 0)).toBeGreaterThan(requests / 2);
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 401, 404, 405, 415]));
    expect(service.output).not.toMatch(/service\.internal_error|[Uu]nhandled|[Uu]ncaught/);
    expect((await service.get('/health/ready')).status).toBe(200);
    const login = await service.post('/auth/login', { body: { login: adminEmail, password } });
    expect(login.status).toBe(200);
    expect((await service.get('/user/list', { token: login.body.access_token })).status).toBe(200);
  });
});

/** With the limits of production: headers and bodies 15 s, silent connections 30 s. */
describe('slow clients', () => {
  const connections: RawConnection[] = [];
  afterAll(() => connections.forEach(({ socket }) => socket.destroy()));

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
});
