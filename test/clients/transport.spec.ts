import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  createIdentity,
  followUsers,
  type Identity,
  type IdentityError,
  login,
  type PortalSession,
} from '@carrier-identity/client';
import { fakeIdentity } from '@carrier-identity/client/testing';

interface Received {
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

const address = { address: '203.0.113.7' };
const user = { user_type: 'carrier', carrier_id: 'c1', name: 'ada', email: 'ada@example.com' } as const;
const failureOf = (promise: PromiseLike<unknown>): Promise<IdentityError> =>
  Promise.resolve(promise).then(
    () => Promise.reject(new Error('did not fail')),
    (error: unknown) => error as IdentityError,
  );

describe('requests of the client', () => {
  const server = createServer((request, response) => void respond(request, response).catch(() => undefined));
  const received: Received[] = [];
  /** The next answers: a status with a body and headers, or a fault. */
  let answers: ([status: number, body?: object | string, headers?: Record<string, string>] | 'cut' | 'hang')[] = [];
  let identity: Identity;
  let url: string;

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray()).toString();
    received.push({ path: request.url ?? '', headers: request.headers, body });
    const answer = answers.shift() ?? [200, {}];
    if (answer === 'hang') return;
    if (answer === 'cut') return void request.socket.destroy();
    const [status, content = {}, headers = {}] = answer;
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof content === 'string' ? content : JSON.stringify(content));
  }

  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    identity = createIdentity({ url: `${url}/base/`, key: () => Promise.resolve('cik_key'), timeout: 300 });
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    received.length = 0;
    answers = [];
  });

  it('send key, filters as lists with commas, the expected version, and no empty filter', async () => {
    await identity.users.list({ carrier_id_in: ['a', 'b'], status: undefined, 'attributes.tier': 'gold' });
    await identity.users.update('u1', { locale: null }, { ifMatch: 3, token: 'other' });
    const [list, change] = received as [Received, Received];
    expect(list.path).toBe('/base/user/list?carrier_id_in=a%2Cb&attributes.tier=gold');
    expect(list.headers.authorization).toBe('Bearer cik_key');
    expect([change.path, change.body, change.headers['if-match'], change.headers.authorization]).toEqual([
      ...['/base/user/u1', '{"locale":null}', '"3"', 'Bearer other'],
    ]);
  });

  it('reject ids that would reach another operation', () => {
    for (const id of ['', '..', 'a/b', 'a?b', '%2e', undefined as unknown as string])
      expect(() => identity.users.get(id)).toThrow(TypeError);
  });

  it('create a user with one idempotency key for all attempts', async () => {
    answers = ['cut', [503, { code: 'service.overloaded' }, { 'retry-after': '0' }], [201, { user_id: 'u1' }]];
    expect(await identity.users.create(user)).toEqual({ user_id: 'u1' });
    const keys = received.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[\da-f-]{36}$/);
    answers = [
      [409, { code: 'idempotency.in_progress' }],
      [201, { user_id: 'u2' }],
    ];
    expect(await identity.users.create(user)).toEqual({ user_id: 'u2' });
  });

  it('are repeated after 429, and never if they could take effect twice', async () => {
    const limited = [429, { code: 'request.rate_limited' }, { 'retry-after': '0' }] as [
      number,
      object,
      Record<string, string>,
    ];
    answers = [limited, limited, [200, {}]];
    await identity.users.update('u1', { locale: 'de' });
    answers = [[503, { code: 'service.overloaded' }, { 'retry-after': '0' }]];
    expect(await failureOf(identity.users.update('u1', {}))).toMatchObject({
      code: 'service.overloaded',
      unavailable: true,
    });
    answers = [[503, {}, { 'retry-after': '0' }]];
    await identity.users.update('u1', {}, { repeatable: true });
    answers = ['cut'];
    expect(await failureOf(identity.keys.resume('k1'))).toMatchObject({ code: 'client.unreachable', status: 0 });
    expect(received).toHaveLength(7);
  });

  it('report each retry, and stop when the report throws', async () => {
    const retries: number[] = [];
    const onRetry = (_error: IdentityError, seconds: number) => {
      if (retries.push(seconds) === 2) throw new Error('enough');
    };
    answers = Array(3).fill([503, {}, { 'retry-after': '0' }]);
    await expect(createIdentity({ url, retries: 5, onRetry }).users.me()).rejects.toThrow('enough');
    expect([retries, received.length]).toEqual([[0, 0], 2]);
  });

  it('do not wait longer than allowed, and stop when they are aborted', async () => {
    answers = [[429, { code: 'request.rate_limited' }, { 'retry-after': '3600' }]];
    expect(await failureOf(identity.users.me())).toMatchObject({ status: 429, retryAfter: 3600 });
    answers = ['hang', 'hang', 'hang'];
    expect(await failureOf(identity.users.me())).toMatchObject({ code: 'client.timeout' });
    expect(received).toHaveLength(4);
    answers = [[429, {}, { 'retry-after': '10' }]];
    const signal = AbortSignal.timeout(50);
    expect(await failureOf(identity.users.me({ signal }))).toMatchObject({ name: 'TimeoutError' });
  });

  it('keep unknown codes and members of problems, and report responses without a problem', async () => {
    answers = [[418, { code: 'later.code', detail: 'x', errors: [{ code: 'a', pointer: '/b' }] }]];
    expect(await failureOf(identity.users.me())).toMatchObject({
      code: 'later.code',
      status: 418,
      errors: [{ pointer: '/b' }],
    });
    answers = [[404, '<html>']];
    expect(await failureOf(identity.users.me())).toMatchObject({ code: 'client.unexpected_response', status: 404 });
    answers = [[200, '<html>']];
    expect(await failureOf(identity.users.me())).toMatchObject({ code: 'client.unexpected_response', status: 200 });
    answers = [[302, {}, { location: 'http://other.example.com' }], [302], [302]];
    expect(await failureOf(identity.users.me())).toMatchObject({ code: 'client.unreachable' });
  });

  it('import a file with its type, and introspect with a form', async () => {
    await identity.users.import('name\nada\n', {}, { headers: { 'content-type': 'text/csv' } });
    await identity.auth.introspect({ token: 't' });
    const sent = received.map(({ headers, body }) => [headers['content-type'], body]);
    expect(sent).toEqual([
      ['text/csv', 'name\nada\n'],
      ['application/x-www-form-urlencoded;charset=UTF-8', 'token=t'],
    ]);
  });

  it('copy users again when the cursor has expired, and follow an older service without long polling', async () => {
    const page = (name: string) => ({ items: [{ user_id: name }], next_cursor: null, changes_cursor: `after-${name}` });
    const changes = (...items: object[]) => ({ items, next_cursor: 'next', behind_seconds: 0 });
    answers = [
      [410, { code: 'change.cursor_expired' }],
      [200, page('new')],
      [200, changes()],
      [400, { code: 'request.invalid', errors: [{ parameter: 'wait', code: 'unknown' }] }],
      [200, changes({ target_id: 'u1', values: { user_id: 'u1' } }, { target_id: 'u2' })],
    ];
    const batches = [];
    for await (const batch of followUsers(identity, { after: 'old', interval: 5 }))
      if (batches.push(batch) === 3) break;
    expect(batches).toEqual([
      { restart: true, users: [{ user_id: 'new' }], deleted: [], cursor: 'after-new' },
      { restart: false, users: [], deleted: [], cursor: 'next' },
      { restart: false, users: [{ user_id: 'u1' }], deleted: ['u2'], cursor: 'next' },
    ]);
    const after = received.map(({ path }) => new URL(path, url).searchParams.get('after'));
    expect(after).toEqual(['old', null, 'after-new', 'next', 'next']);
  });

  it('from portals carry the address of the user, and refresh a session once for concurrent requests', async () => {
    const fake = await fakeIdentity();
    const portal = login({ url, key: 'cik_portal', timeout: 300 });
    const known = { must_change_password: false, must_enroll_second_factor: false };
    const session = {
      ...known,
      access_token: await fake.token({ expires_in: 10 }),
      refresh_token: 'r1',
    } as PortalSession;
    const access_token = await fake.token();
    await fake.close();
    // The first response is lost. The service repeats it within its grace period.
    answers = ['cut', [200, { access_token, refresh_token: 'r2', user: { user_id: 'u1', name: 'ada', ...known } }]];
    const sessions = await Promise.all(Array.from({ length: 5 }, () => portal.refresh(session, address)));
    expect(new Set(sessions).size).toBe(1);
    expect(sessions[0]).toMatchObject({ access_token, refresh_token: 'r2', name: 'ada' });
    expect(received.map(({ body }) => body)).toEqual(['{"refresh_token":"r1"}', '{"refresh_token":"r1"}']);
    expect(received[0]?.headers).toMatchObject({ 'x-api-key': 'cik_portal', 'x-user-address': '203.0.113.7' });
    // Not due yet.
    expect(await portal.refresh(sessions[0] as PortalSession, address)).toBe(sessions[0]);
    expect(received).toHaveLength(2);
    answers = [[503, { code: 'service.stopping' }]];
    expect(await portal.refresh(session, address)).toBe(session);
    answers = [[401, { code: 'auth.token_invalid' }]];
    expect(await portal.refresh(session, address)).toBeNull();
    answers = [[401, { code: 'auth.token_invalid' }]];
    await portal.logout(session);
  });
});
