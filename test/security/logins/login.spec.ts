import * as argon2 from '@node-rs/argon2';
import { password, type TestAnswer, TestService } from '../../support/service';
import { likelihoodOfMore } from '../../support/timing';
import { forge, ownKey, decode, visiblePart } from '../../support/tokens';

// The real functions, with their calls counted.
jest.mock('@node-rs/argon2', () => {
  const real = jest.requireActual<typeof argon2>('@node-rs/argon2');
  return { ...real, hash: jest.fn(real.hash), verify: jest.fn(real.verify) };
});
const verifications = jest.mocked(argon2.verify).mock.calls;
const hashes = jest.mocked(argon2.hash).mock.calls;

describe('attacks on the login', () => {
  let service: TestService;
  const logins: Record<string, { login: string; password: string }> = {};

  beforeAll(async () => {
    service = await TestService.start();
    const { token } = service.admin;
    const [known, disabled, deleted, expired] = [
      await service.createUser(),
      await service.createUser(),
      await service.createUser(),
      await service.createUser(),
    ];
    const invited = await service.createUser({ password: undefined, must_change_password: undefined });
    await service.patch(`/user/${disabled.user_id}`, { token, body: { status: 'disabled' } });
    await service.delete(`/user/${deleted.user_id}`, { token });
    await service.rows(`update credentials set expires_at = now() - interval '1 second' where user_id = $1`, [
      expired.user_id,
    ]);
    logins['wrong password'] = { login: known.name, password: `${password}!` };
    logins['wrong password, by address'] = { login: known.email, password: `${password}!` };
    logins['unknown name'] = { login: 'unknown-name', password };
    logins['unknown address'] = { login: 'unknown@example.com', password };
    logins['disabled'] = { login: disabled.name, password };
    logins['deleted'] = { login: deleted.name, password };
    logins['invited, without a password'] = { login: invited.name, password };
    logins['initial password expired'] = { login: expired.name, password };
    expect((await attempt({ login: known.name, password })).status).toBe(200);
  });
  afterAll(() => service.close());

  const attempt = (body: object): Promise<TestAnswer> => service.post('/auth/login', { body });
  /** Clears the counters of earlier attempts. */
  const forgive = () => service.rows('delete from login_attempts');
  beforeEach(forgive);

  const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

  it('responds alike to everyone who cannot log in (L1)', async () => {
    const answers = await Promise.all(Object.values(logins).map(attempt));
    const [first] = answers.map(visiblePart);
    expect(first).toMatchObject({ status: 401, body: { code: 'auth.invalid_credentials' } });
    for (const answer of answers) expect(JSON.stringify(visiblePart(answer))).toBe(JSON.stringify(first));
  });

  it('verifies exactly one Argon2 hash for everyone (L2)', async () => {
    for (const [kind, body] of Object.entries(logins)) {
      const before = { verifications: verifications.length, hashes: hashes.length };
      await attempt(body);
      expect([kind, verifications.length - before.verifications, hashes.length - before.hashes]).toEqual([kind, 1, 0]);
      expect(verifications.at(-1)?.[0]).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    }
  });

  it('takes as long for known, unknown and disabled users (L2)', async () => {
    const kinds = ['wrong password', 'unknown name', 'disabled'];
    const times: Record<string, number[]> = Object.fromEntries(kinds.map((kind) => [kind, []]));
    for (let round = 0; round < 60; round++) {
      await forgive();
      for (const kind of kinds) {
        const began = performance.now();
        expect((await attempt(logins[kind] ?? {})).status).toBe(401);
        times[kind]?.push(performance.now() - began);
      }
    }
    const [known = [], ...others] = kinds.map((kind) => times[kind] ?? []);
    // Medians differ by chance on a busy machine. Without a hash, all attempts of one kind would be
    // shorter.
    for (const other of others) {
      const apart = Math.abs(median(other) - median(known)) > Math.max(3, median(known) * 0.15);
      expect(apart && Math.abs(likelihoodOfMore(other, known) - 0.5) > 0.25).toBe(false);
    }
  });

  it('rejects too short and too long passwords before it looks for the user (L2)', async () => {
    const { 'wrong password': known, 'unknown name': unknown } = logins;
    for (const [secret, status, cost] of [
      ['', 400, 0],
      ['x', 401, 1],
      ['x'.repeat(256), 401, 1],
      ['x'.repeat(257), 400, 0],
      ['𝕏'.repeat(257), 400, 0],
    ] as const) {
      const before = verifications.length;
      const [a, b] = [await attempt({ ...known, password: secret }), await attempt({ ...unknown, password: secret })];
      expect(a.status).toBe(status);
      expect(JSON.stringify(visiblePart(a))).toBe(JSON.stringify(visiblePart(b)));
      expect(verifications.length - before).toBe(2 * cost);
    }
  });

  it('finds no user by missing values (L16)', async () => {
    const shapes = [
      {},
      { login: null },
      { password },
      { login: undefined, password },
      { login: null, password },
      { login: '', password },
    ];
    for (const body of [...shapes, { login: '%', password }, { login: [], password }, { login: {}, password: {} }]) {
      const { status } = await attempt(body);
      expect([400, 401]).toContain(status);
    }
    const { key, header } = ownKey(service);
    const claims = decode(service.admin.token);
    for (const missing of [
      { sub: undefined },
      { sub: null },
      { sub: '' },
      { sid: undefined },
      { sid: null },
      { sub: undefined, sid: undefined },
    ]) {
      const token = forge(header, { ...claims, ...missing }, key);
      expect((await service.get('/user', { token })).body.code).toBe('auth.token_invalid');
      expect((await service.post('/auth/check-token', { body: { token } })).body.code).toBe('auth.token_invalid');
    }
  });

  it('adopts no session id, token or cookie of the caller (S1)', async () => {
    const user = await service.loginAs();
    const own = { login: user.name, password };
    expect((await attempt({ ...own, session_id: user.session_id })).status).toBe(400);
    expect((await attempt({ ...own, refresh_token: user.refresh_token })).status).toBe(400);
    const headers = { cookie: `session_id=${user.session_id}; token=${user.token}`, 'x-session-id': user.session_id };
    const again = await service.post('/auth/login', { body: own, headers, token: user.token });
    expect(again.status).toBe(200);
    expect(again.headers['set-cookie']).toBeUndefined();
    const before = [user.session_id, user.token, user.refresh_token];
    for (const fresh of [again.body.session_id, again.body.access_token, again.body.refresh_token])
      expect(before).not.toContain(fresh);
    expect(decode(again.body.access_token)['sid']).toBe(again.body.session_id);
  });

  it('rejects a right password in the URL (P14)', async () => {
    const { login } = logins['wrong password'] ?? {};
    const query = `/auth/login?login=${login}&password=${encodeURIComponent(password)}`;
    expect((await service.get(query)).status).toBe(405);
    expect((await service.post(query)).status).toBe(400);
    expect((await service.post(query, { body: {} })).status).toBe(400);
    expect((await service.post(query, { body: { login, password } })).status).toBe(400);
    const form = {
      payload: `login=${login}&password=${password}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    };
    expect((await service.app.inject({ method: 'POST', url: '/auth/login', ...form })).statusCode).toBe(415);
  });
});
