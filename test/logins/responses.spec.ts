import type { FirstAdministrator } from '../../src/auth/recovery/first-administrator.service';
import { hashCost, METRICS_TOKEN } from '../support/hash-counts';
import { password, type TestAnswer, TestService } from '../support/service';
import { decode, forge, ownKey, visiblePart } from '../support/tokens';

const wrong = `${password}!`;

describe('responses to logins', () => {
  let service: TestService;
  const logins: Record<string, { login: string; password: string }> = {};
  let known: { user_id: string; name: string; email: string };
  let disabled: { user_id: string; name: string };

  beforeAll(async () => {
    service = await TestService.start({ METRICS_TOKEN });
    const { token } = service.admin;
    [known, disabled] = [await service.createUser(), await service.createUser()];
    const [deleted, expired] = [await service.createUser(), await service.createUser()];
    const invited = await service.createUser({ password: undefined, must_change_password: undefined });
    await service.patch(`/user/${disabled.user_id}`, { token, body: { status: 'disabled' } });
    await service.delete(`/user/${deleted.user_id}`, { token });
    await service.rows(`update credentials set expires_at = now() - interval '1 second' where user_id = $1`, [
      expired.user_id,
    ]);
    logins['wrong password'] = { login: known.name, password: wrong };
    logins['wrong password, by address'] = { login: known.email, password: wrong };
    logins['unknown name'] = { login: 'unknown-name', password };
    logins['unknown address'] = { login: 'unknown@example.com', password };
    logins['disabled'] = { login: disabled.name, password };
    logins['disabled, wrong password'] = { login: disabled.name, password: wrong };
    logins['deleted'] = { login: deleted.name, password };
    logins['invited, without a password'] = { login: invited.name, password };
    logins['initial password expired'] = { login: expired.name, password };
    expect((await attempt({ login: known.name, password })).status).toBe(200);
  });
  afterAll(() => service.close());
  /** Clears the counters of earlier attempts. */
  beforeEach(() => service.rows('delete from login_attempts'));

  const attempt = (body: object): Promise<TestAnswer> => service.post('/auth/login', { body });

  it('responds alike to everyone who cannot log in, after one hash (L1, L2)', async () => {
    const shown = new Set<string>();
    for (const [kind, body] of Object.entries(logins)) {
      const { logins: verified, others } = await hashCost(service, async () => {
        const answer = await attempt(body);
        expect([kind, answer.status, answer.body.code]).toEqual([kind, 401, 'auth.invalid_credentials']);
        shown.add(JSON.stringify(visiblePart(answer)));
      });
      expect([kind, verified, others]).toEqual([kind, 1, 0]);
    }
    expect(shown.size).toBe(1);
  });

  it('rejects too short and too long passwords before it looks for the user (L2)', async () => {
    for (const [secret, status, hashes] of [
      ['', 400, 0],
      ['x', 401, 2],
      ['x'.repeat(256), 401, 2],
      ['x'.repeat(257), 400, 0],
      ['𝕏'.repeat(257), 400, 0],
    ] as const) {
      const { logins: verified } = await hashCost(service, async () => {
        const [a, b] = [
          await attempt({ login: known.name, password: secret }),
          await attempt({ login: 'unknown-name', password: secret }),
        ];
        expect(a.status).toBe(status);
        expect(JSON.stringify(visiblePart(a))).toBe(JSON.stringify(visiblePart(b)));
      });
      expect(verified).toBe(hashes);
    }
  });

  it('counts the right password of a disabled user as a failure, and records that it was right (L1)', async () => {
    const { user_id } = disabled;
    await service.rows('delete from login_attempts');
    const codes = [];
    for (let index = 0; index < 6; index++)
      codes.push((await attempt({ login: disabled.name, password })).body.code as string);
    expect(codes).toEqual([...Array<string>(5).fill('auth.invalid_credentials'), 'auth.too_many_attempts']);
    const { body } = await service.get(`/audit/list?target_id=${user_id}&event_type=login.failed`, service.admin);
    expect(body.items[0].changes).toEqual({ reason: { after: 'disabled' } });
    const locked = await service.get(`/audit/list?target_id=${user_id}&event_type=login.locked`, service.admin);
    expect(locked.body.items).toHaveLength(1);
  });

  it('finds no user by missing values (L16)', async () => {
    const shapes = [{}, { login: null }, { password }, { login: null, password }, { login: '', password }];
    for (const body of [...shapes, { login: '%', password }, { login: [], password }, { login: {}, password: {} }])
      expect([400, 401]).toContain((await attempt(body)).status);
    const { key, header } = await ownKey(service);
    const claims = decode(service.admin.token);
    for (const missing of [
      ...[undefined, null, ''].map((sub) => ({ sub })),
      ...[undefined, null].map((sid) => ({ sid })),
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

  it('stores how and when the user authenticated with the session', async () => {
    const { session_id } = await service.login(known.name);
    const columns = `amr, auth_time <= created_at and auth_time > created_at - interval '5 minutes' as authenticated`;
    const rows = await service.rows(`select ${columns} from sessions where session_id = $1`, [session_id]);
    expect(rows).toEqual([{ amr: ['pwd'], authenticated: true }]);
  });

  it('rejects a right password in the URL (P14)', async () => {
    const body = { login: known.name, password };
    const query = `/auth/login?login=${known.name}&password=${encodeURIComponent(password)}`;
    expect((await service.get(query)).status).toBe(405);
    expect((await service.post(query)).status).toBe(400);
    expect((await service.post(query, { body: {} })).status).toBe(400);
    expect((await service.post(query, { body })).status).toBe(400);
    const payload = new URLSearchParams(body).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await service.inject({ method: 'POST', url: '/auth/login', payload, headers })).statusCode).toBe(415);
  });
});

describe('the first administrator', () => {
  it('has no default password, and is not created once any user exists (L14)', async () => {
    const service = await TestService.start({ ADMIN_EMAIL: '', ADMIN_PASSWORD: '' });
    const stored = () => service.rows('select name, password_hash from users left join credentials using (user_id)');
    expect(await stored()).toEqual([{ name: 'administrator', password_hash: null }]);
    for (const secret of ['admin', 'administrator', 'password', 'changeme', 'carrier-identity', '12345678', 'secret'])
      expect(
        (await service.post('/auth/login', { body: { login: 'administrator', password: secret } })).status,
      ).not.toBe(200);
    await service.rows('update users set deleted_at = now()');
    expect(await service.inside<FirstAdministrator>('FirstAdministrator').ensure()).toBeNull();
    expect(await stored()).toHaveLength(1);
    await service.close();
  });
});
