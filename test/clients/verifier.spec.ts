import {
  createIdentity,
  isInvalidToken,
  isUnavailable,
  verifier,
  type Verifier,
  type VerifierOptions,
} from '@carrier-identity/client';
import { fakeIdentity, type FakeIdentity } from '@carrier-identity/client/testing';
import { createKey } from '../support/data/keys';
import { TestService } from '../support/service';
import { until } from '../support/until';

/** Less than a wait for changes takes without a notification. */
const soonMs = 20_000;
const now = Date.now;
/** ms that the clock of the verifiers, and of the fake service, is ahead */
let ahead = 0;
beforeAll(() => jest.spyOn(Date, 'now').mockImplementation(() => now() + ahead));
beforeEach(() => (ahead = 0));

/** Returns `valid`, `invalid` or `unavailable`. */
async function stateOf(tokens: Verifier, token: string): Promise<string> {
  try {
    await tokens.verify(token);
    return 'valid';
  } catch (error) {
    if (isInvalidToken(error)) return 'invalid';
    if (isUnavailable(error)) return 'unavailable';
    throw error;
  }
}

const opened: Verifier[] = [];
function open(options: VerifierOptions): Verifier {
  const tokens = verifier({ clockTolerance: 0, onError: () => undefined, ...options });
  opened.push(tokens);
  return tokens;
}
afterEach(() => {
  for (const tokens of opened.splice(0)) tokens.close();
});
/** Opens a verifier a second ago, because a token of the same second can be older than its feed. */
async function openedBefore(make: () => Verifier): Promise<Verifier> {
  ahead = -1_100;
  const tokens = make();
  await until(() => tokens.current);
  ahead = 0;
  return tokens;
}

describe('a verifier at the real service', () => {
  let service: TestService;
  let key: string;
  const requests: string[] = [];
  let isCut = false;

  /** Counts requests, and fails while the service is cut off. */
  const counted: typeof fetch = async (input, init) => {
    requests.push(new URL(input instanceof Request ? input.url : input).pathname);
    if (isCut) throw new TypeError('fetch failed');
    return fetch(input, init);
  };
  const from = (mode: VerifierOptions['mode'], more: Partial<VerifierOptions> = {}) =>
    open({ url: service.url, issuer: 'http://localhost:3000', key, mode, fetch: counted, ...more });
  const checks = () => requests.filter((path) => path === '/auth/check-token').length;

  beforeAll(async () => {
    service = await TestService.start();
    ({ key } = await createKey(service, ['change:read', 'role:read', 'user:read', 'token:introspect']));
    const role = { name: 'clerk', user_types: ['carrier'], permissions: ['billing:read'] };
    await service.post('/role/create', { token: service.admin.token, body: role });
  });
  afterAll(() => service.close());
  beforeEach(() => (requests.length = 0));

  it('rejects an ended session in mode feed before its token expires, without a request per token', async () => {
    const tokens = await openedBefore(() => from('feed'));
    const users = [await service.loginAs({ roles: ['clerk'] }), await service.loginAs({ roles: ['clerk'] })];
    for (const { token, user_id, session_id } of users) {
      const caller = await tokens.verify(token);
      expect(caller).toMatchObject({ kind: 'user', id: user_id, session_id, user_type: 'carrier', carrier_id: 'c1' });
      expect([caller.can('billing:read'), caller.can('billing:write')]).toEqual([true, false]);
    }
    const [ended, live] = users.map(({ token }) => token) as [string, string];
    await service.post('/auth/logout', { token: ended, body: {} });
    await until(async () => (await stateOf(tokens, ended)) === 'invalid', soonMs);
    expect([await stateOf(tokens, live), checks()]).toEqual(['valid', 0]);
  });

  it('applies changed roles and a disabled user to a token that was verified before, in mode feed', async () => {
    const tokens = from('feed');
    await until(() => tokens.current);
    const { token, user_id } = await service.loginAs({ roles: ['clerk'] });
    const change = (body: object) => service.patch(`/user/${user_id}`, { token: service.admin.token, body });
    expect((await tokens.verify(token)).can('billing:read')).toBe(true);
    await change({ roles: [] });
    await until(async () => !(await tokens.verify(token)).can('billing:read'), soonMs);
    await change({ roles: ['clerk'] });
    await until(async () => (await tokens.verify(token)).can('billing:read'), soonMs);
    const role = { permissions: ['billing:read', 'billing:write'] };
    await service.patch('/role/clerk', { token: service.admin.token, body: role });
    await until(async () => (await tokens.verify(token)).can('billing:write'), soonMs);
    await change({ status: 'disabled' });
    await until(async () => (await stateOf(tokens, token)) === 'invalid', soonMs);
  });

  it('checks tokens that are older than the verifier with the service, once', async () => {
    const { token } = await service.loginAs({ roles: ['clerk'] });
    const { token: ended } = await service.loginAs();
    await service.post('/auth/logout', { token: ended, body: {} });
    const tokens = from('feed');
    await until(() => tokens.current);
    expect([await stateOf(tokens, token), await stateOf(tokens, ended)]).toEqual(['valid', 'invalid']);
    // Answers hold for good once they are two seconds younger than what they could miss.
    ahead = 2_100;
    await tokens.verify(token);
    const asked = checks();
    ahead = 3_200;
    await tokens.verify(token);
    expect([checks(), asked >= 2]).toEqual([asked, true]);
    expect(await stateOf(tokens, ended)).toBe('invalid');
  });

  it('verifies tokens in mode offline, and accepts a token after logout until it expires', async () => {
    const tokens = from('offline', { roles: { clerk: ['billing:read'] } });
    const { token } = await service.loginAs({ roles: ['clerk'] });
    expect((await tokens.verify(token)).can('billing:read')).toBe(true);
    expect((await tokens.verify(service.admin.token)).can('anything:else')).toBe(true);
    await service.post('/auth/logout', { token, body: {} });
    expect(await stateOf(tokens, token)).toBe('valid');
    expect(await stateOf(tokens, `${token.slice(0, -4)}AAAA`)).toBe('invalid');
    expect(requests).toEqual(['/.well-known/jwks.json']);
  });

  it('calls check-token in mode check, and rejects a token after logout once the cache expires', async () => {
    const tokens = from('check', { cache: 0 });
    const { token, name } = await service.loginAs({ roles: ['clerk'] });
    const caller = await tokens.verify(token);
    expect(caller).toMatchObject({ name, roles: ['clerk'], amr: ['pwd'] });
    expect(caller.can('billing:read')).toBe(true);
    await service.post('/auth/logout', { token, body: {} });
    expect(await stateOf(tokens, token)).toBe('invalid');
  });

  it('accepts API keys of other modules with `apiKeys`, and rejects unknown keys', async () => {
    const module = await createKey(service, ['user:read']);
    const tokens = from('check', { apiKeys: true });
    expect(await tokens.verify(module.key)).toMatchObject({
      kind: 'key',
      id: module.key_id,
      permissions: ['user:read'],
    });
    expect(await stateOf(tokens, `${module.key.slice(0, -4)}AAAA`)).toBe('invalid');
    expect(await stateOf(from('check'), module.key)).toBe('invalid');
  });

  it('never rejects a token because the service cannot be reached', async () => {
    const { token } = await service.loginAs({ roles: ['clerk'] });
    const fresh = (['offline', 'feed', 'check'] as const).map((mode) => from(mode, { maxDelay: 2 }));
    const used = (['feed', 'check'] as const).map((mode) => from(mode, { maxDelay: 2, cache: 0 }));
    for (const tokens of used) expect(await stateOf(tokens, token)).toBe('valid');
    isCut = true;
    try {
      for (const tokens of fresh) expect(await stateOf(tokens, token)).toBe('unavailable');
      await until(() => !used[0]?.current);
      for (const tokens of used) expect(await stateOf(tokens, token)).toBe('unavailable');
    } finally {
      isCut = false;
    }
    for (const tokens of used) expect(await stateOf(tokens, token)).toBe('valid');
  });

  it('fails with the problem of the service, not as an invalid token, if its own key is wrong', async () => {
    const tokens = from('check', { apiKeys: true, key: 'cik_wrong' });
    await expect(tokens.verify(`cik_${'o'.repeat(43)}`)).rejects.toMatchObject({
      status: 401,
      code: 'auth.key_invalid',
    });
  });

  it('follows changes from a cursor without end', async () => {
    const identity = createIdentity({ url: service.url, key });
    const { changes_cursor: after } = await identity.users.list({ per_page: 1 });
    const { user_id } = await service.createUser();
    for await (const page of identity.changes.follow({ after, wait: 1, interval: 100 })) {
      if (page.items.at(-1)?.target_id === user_id) break;
    }
    const wrong = identity.changes.follow({ after: 'nonsense', interval: 100 });
    await expect(wrong.next()).rejects.toMatchObject({ code: 'page.cursor_invalid' });
  });
});

describe('a verifier at the fake service', () => {
  let fake: FakeIdentity;
  beforeEach(async () => {
    fake = await fakeIdentity();
  });
  afterEach(() => fake.close());
  const from = (mode: VerifierOptions['mode'], more: Partial<VerifierOptions> = {}) =>
    open({ url: fake.url, key: 'cik_test', mode, ...more });
  const checks = () => fake.requests['/auth/check-token'] ?? 0;
  /** A verifier in mode feed which knows that tokens from now on are newer than its begin. */
  const following = (more: Partial<VerifierOptions> = {}) => openedBefore(() => from('feed', more));

  it('sends one request for concurrent checks of a token, and another one after the cache expires', async () => {
    const tokens = from('check', { cache: 60 });
    const token = await fake.token({ permissions: ['billing:read'] });
    await Promise.all(Array.from({ length: 50 }, () => tokens.verify(token)));
    await tokens.verify(token);
    expect(checks()).toBe(1);
    ahead = 60_000;
    await tokens.verify(token);
    expect(checks()).toBe(2);
  });

  it('sends no request for a forged token, so forgeries cannot exhaust the rate limit of the module', async () => {
    const tokens = from('check');
    const token = await fake.token();
    const [head, , signature] = token.split('.') as [string, string, string];
    const none = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url');
    const claims = Buffer.from(JSON.stringify({ sub: 'x', iss: fake.url })).toString('base64url');
    const forged = ['x', 'a.b.c', `${head}.${claims}.${signature}`, `${none}.${claims}.`, `${token.slice(0, -4)}AAAA`];
    for (const one of forged) expect(await stateOf(tokens, one)).toBe('invalid');
    const others = [await fake.token({ audience: 'other' }), await fake.token({ expires_in: -10 })];
    for (const one of others) expect(await stateOf(tokens, one)).toBe('invalid');
    expect(checks()).toBe(0);
  });

  it('calls check-token while the feed is behind, and fails as unavailable if check-token fails too', async () => {
    const tokens = await following({ maxDelay: 1, cache: 0 });
    const token = await fake.token({ permissions: ['billing:read'] });
    // The role of the token is new: its permissions are known with the next change.
    await until(async () => (await tokens.verify(token)).can('billing:read'));
    fake.hold();
    fake.endSession(token);
    await until(() => !tokens.current);
    expect(await stateOf(tokens, token)).toBe('invalid');
    const other = await fake.token({ roles: ['administrator'] });
    const before = checks();
    expect([await stateOf(tokens, other), checks()]).toEqual(['valid', before + 1]);
    fake.down();
    expect(await stateOf(tokens, await fake.token())).toBe('unavailable');
    fake.up();
    fake.release();
    await until(() => tokens.current);
    expect(await stateOf(tokens, token)).toBe('invalid');
  });

  it('keeps a bounded number of sessions, and checks tokens older than the dropped entries', async () => {
    const tokens = await following({ capacity: 3 });
    const token = await fake.token({ roles: ['administrator'] });
    expect([await stateOf(tokens, token), checks()]).toEqual(['valid', 0]);
    const ended = await Promise.all(Array.from({ length: 5 }, () => fake.token()));
    for (const one of ended) fake.endSession(one);
    await until(async () => (await stateOf(tokens, ended[4] as string)) === 'invalid');
    expect(checks()).toBe(0);
    // The first ones were forgotten.
    expect([await stateOf(tokens, ended[0] as string), checks()]).toEqual(['invalid', 1]);
    expect([await stateOf(tokens, token), checks()]).toEqual(['valid', 2]);
  });

  it('checks tokens that are older than the kept changes with the service', async () => {
    const tokens = await following({ retention: 60, maxDelay: 120 });
    const token = await fake.token({ roles: ['administrator'] });
    expect([await stateOf(tokens, token), checks()]).toEqual(['valid', 0]);
    ahead = 60_000;
    expect([await stateOf(tokens, token), checks()]).toEqual(['valid', 1]);
  });

  it('does not reuse a response that is older than a change of the user', async () => {
    const tokens = await following({ cache: 0 });
    const token = await fake.token({ roles: ['administrator'], permissions: ['*'] });
    fake.changePermissions(token, ['billing:read']);
    await until(async () => !(await tokens.verify(token)).can('billing:write'));
    fake.disableUser(token);
    await until(async () => (await stateOf(tokens, token)) === 'invalid');
  });
});
