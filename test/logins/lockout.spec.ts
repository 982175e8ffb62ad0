import type { FirstAdministrator } from '../../src/auth/recovery/first-administrator.service';
import type { LoginAttemptsService } from '../../src/auth/passwords/login-attempts.service';
import { changesOf } from '../support/data/events';
import { hashCost, METRICS_TOKEN } from '../support/process/hash-counts';
import { mailedResetToken } from '../support/data/links';
import { inTransaction } from '../support/locks';
import { Authenticator, firstStep } from '../support/logins/second-factors';
import { password, type TestAnswer, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { decode, visiblePart } from '../support/logins/tokens';

const wrong = `${password}!`;
const home = '127.0.0.1';
const strange = '203.0.113.9';
const elsewhere = '198.51.100.20';
/** An address from which no user logs in. */
const far = '192.0.2.77';
const missingLogins = Array.from({ length: 16 }, (_, index) =>
  index % 2 === 0 ? `missing-${index}` : `missing-${index}@example.com`,
);

/** Account lockout: limits the wrong passwords of a login, whether its user exists or not. */
describe('guessing passwords', () => {
  let service: TestService;
  /** another instance with the same database, and with other limits */
  let other: ServiceProcess;

  beforeAll(async () => {
    service = await TestService.start({ METRICS_TOKEN });
    other = await ServiceProcess.beside(service, {
      ...{ LOCKOUT_THRESHOLD: '2', LOCKOUT_FIRST_SECONDS: '100', LOCKOUT_MAX_SECONDS: '150', LOCKOUT_HARD_LIMIT: '4' },
      TRUST_PROXY: '127.0.0.1',
    });
  });
  afterAll(async () => {
    await other.stop();
    await service.close();
  });

  const attempt = (login: string, secret = wrong, ip = strange, at: ServiceProcess = service): Promise<TestAnswer> =>
    at.post('/auth/login', { body: { login, password: secret }, ip });
  /** Enters wrong passwords, and returns the statuses. */
  const failTimes = async (times: number, login: string, ip?: string): Promise<number[]> => {
    const statuses: number[] = [];
    while (statuses.length < times) statuses.push((await attempt(login, wrong, ip)).status);
    return statuses;
  };
  const enrol = (user_id: string) => Authenticator.enrol(service, user_id);

  /** Ends the current lockout. */
  const elapse = () =>
    service.rows(
      `
        update login_attempts
        set locked_until = now()
        where locked_until < now() + interval '2 hours' and locked_until > now()`,
    );

  const failuresOf = async (user_id: string) => (await changesOf(service, 'login.failed', user_id)).length;

  it('verifies five of 8 wrong passwords, and not the right one within the lockout (L5)', async () => {
    const user = await service.createUser();
    const { logins } = await hashCost(service, async () => {
      expect(await failTimes(8, user.name)).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
      const refused = await attempt(user.name, password);
      expect([refused.status, refused.body.code]).toEqual([429, 'auth.too_many_attempts']);
    });
    expect([logins, await failuresOf(user.user_id)]).toEqual([5, 5]);
    expect(await changesOf(service, 'login.locked', user.user_id)).toEqual([
      { failures: { after: 5 }, locked_until: { after: expect.any(String) } },
    ]);
  });

  it('announces true waits: one attempt after each, doubling up to an hour (L6)', async () => {
    const user = await service.createUser();
    await attempt(user.name);
    const set = (values: string) =>
      service.rows(`update login_attempts set ${values} where account = $1`, [user.user_id]);
    for (const [failures, pause] of [
      [4, 30],
      [5, 60],
      [6, 120],
      [10, 1_920],
      [11, 3_600],
      [98, 3_600],
    ]) {
      await set(`failures = ${failures}, locked_until = now()`);
      expect((await attempt(user.name)).status).toBe(401);
      const { status, headers } = await attempt(user.name, password);
      const wait = Number(headers['retry-after']);
      expect([status, headers['ratelimit-policy'], headers['ratelimit']]).toEqual([
        429,
        `"account";q=1;w=${pause}`,
        `"account";r=0;t=${wait}`,
      ]);
      expect(wait).toBeGreaterThan(0);
      expect(wait).toBeLessThanOrEqual(pause ?? 0);
      const [row] = await service.rows<{ seconds: number }>(
        `select extract(epoch from locked_until - now())::float8 as seconds from login_attempts where account = $1`,
        [user.user_id],
      );
      expect(row?.seconds).toBeLessThanOrEqual(wait);
    }
    await set(`locked_until = now() + interval '40 minutes'`);
    const shorter = Number((await attempt(user.name)).headers['retry-after']);
    expect(shorter).toBeLessThanOrEqual(2_400);
    expect(shorter).toBeGreaterThan(1_800);
    await elapse();
    expect((await attempt(user.name, password)).status).toBe(200);
    expect(await failTimes(5, user.name)).toEqual([401, 401, 401, 401, 401]);
  });

  it('applies the configured threshold, durations and hard stop (L5)', async () => {
    const { name } = await service.createUser();
    const rounds: unknown[] = [];
    for (let failure = 1; failure <= 4; failure++) {
      expect((await attempt(name, wrong, strange, other)).status).toBe(401);
      if (failure === 1) continue;
      const { status, headers } = await attempt(name, password, strange, other);
      rounds.push([status, headers['ratelimit-policy']]);
      await elapse();
    }
    const policy = (seconds: number) => [429, `"account";q=1;w=${seconds}`];
    expect(rounds).toEqual([policy(100), policy(150), policy(86_400)]);
    const refused = await attempt(name, password, strange, other);
    expect(refused.body.detail).toContain('locked until its password is reset');
  });

  it('accepts only a new password after a hundred failures in a row, and then logs in again (L5)', async () => {
    const user = await service.createUser();
    await attempt(user.name);
    await service.rows(`update login_attempts set failures = 98 where account = $1`, [user.user_id]);
    expect((await attempt(user.name)).status).toBe(401);
    await elapse();
    expect((await attempt(user.name)).status).toBe(401);
    await elapse();
    const refused = await attempt(user.name, password);
    expect([refused.status, refused.headers['retry-after'], refused.body.detail]).toEqual([
      429,
      '86400',
      expect.stringContaining('locked until its password is reset'),
    ]);
    expect(await failuresOf(user.user_id)).toBe(3);
    const token = await mailedResetToken(service, user.email);
    const fresh = 'another horse battery staple';
    expect((await service.post(`/auth/reset/${token}`, { body: { password: fresh } })).status).toBe(204);
    expect((await attempt(user.name, fresh)).status).toBe(200);
  });

  it('responds alike to users and missing logins at an address without earlier logins (L4)', async () => {
    const user = await service.createUser();
    const invited = await service.inviteUser();
    const seen = async (login: string) => {
      const shown: unknown[] = [];
      while (shown.length < 7) {
        const answer = await attempt(login, wrong, '198.51.100.4');
        const { 'retry-after': wait, ratelimit, ...headers } = answer.headers;
        shown.push([visiblePart({ ...answer, headers }), wait === undefined, ratelimit === undefined]);
      }
      return shown;
    };
    const known = await seen(user.name);
    for (const login of ['unknown-name', 'unknown@example.com', invited.email])
      expect(await seen(login)).toEqual(known);
    expect((await attempt('unknown-name', wrong, '198.51.100.5')).status).toBe(429);
  });

  it('verifies five passwords for one user in any spelling of the login (L10)', async () => {
    const { user_id, name, email } = await service.createUser();
    const mixed = `${name.toUpperCase()}@${email.split('@')[1]}`;
    const { logins } = await hashCost(service, async () => {
      for (const login of [name, name.toUpperCase(), email, email.toUpperCase(), mixed, name, email])
        await attempt(login);
    });
    expect([logins, await failuresOf(user_id)]).toEqual([5, 5]);
    const missing = await hashCost(service, async () => {
      for (const login of [
        'No-Such-User',
        'no-such-user',
        'NO-SUCH-USER',
        'no-such-USER',
        'no-such-useR',
        'no-Such-user',
      ])
        await attempt(login);
    });
    expect(missing.logins).toBe(5);
  });

  it('finds no user by look-alikes of a login (L10)', async () => {
    const { name, email } = await service.createUser();
    const names = [` ${name}`, `${name} `, `K${name.slice(1)}`, name.replace('s', 'ſ')];
    for (const login of [...names, ` ${email}`, `${email}.`, email.replace('e', 'ｅ')])
      expect([login, (await attempt(login, password)).status]).not.toEqual([login, 200]);
  });

  it('lets the owner log in from a known address, and reset, during a lockout by strangers (L11)', async () => {
    const owner = await service.loginAs();
    await failTimes(6, owner.name);
    expect((await attempt(owner.name, password)).status).toBe(429);
    expect((await attempt(owner.name, password, home)).status).toBe(200);
    // The login of the owner does not clear the counter of strangers.
    expect((await attempt(owner.name, password)).status).toBe(429);
    const [token, fresh] = [await mailedResetToken(service, owner.email), 'another horse battery staple'];
    expect((await service.post(`/auth/reset/${token}`, { body: { password: fresh } })).status).toBe(204);
    expect((await attempt(owner.name, fresh)).status).toBe(200);
  });

  it('limits a known address and its /64 separately for 30 days, like any other (L11)', async () => {
    const owner = await service.createUser();
    expect((await attempt(owner.name, password, '2001:db8:0:7::1')).status).toBe(200);
    await failTimes(5, owner.name);
    expect((await attempt(owner.name, password, '2001:db8:0:8::1')).status).toBe(429);
    expect((await attempt(owner.name, password, '2001:db8:0:7:ffff::2')).status).toBe(200);
    expect(await failTimes(6, owner.name, '2001:db8:0:7::3')).toEqual([401, 401, 401, 401, 401, 429]);
    await service.rows(
      `update login_attempts set locked_until = null, failures = 0 where account = $1 and address <> ''`,
      [owner.user_id],
    );
    await service.rows(`update login_attempts set known_until = known_until - interval '30 days' where account = $1`, [
      owner.user_id,
    ]);
    expect((await attempt(owner.name, password, '2001:db8:0:7::1')).status).toBe(429);
  });

  it('clears only its own counter after the right password (L12)', async () => {
    const [one, other] = [await service.createUser(), await service.createUser()];
    await failTimes(4, one.name);
    await failTimes(4, other.name);
    expect((await attempt(other.name, password)).status).toBe(200);
    expect(await failTimes(2, one.name)).toEqual([401, 429]);
    expect(await failTimes(5, other.name)).toEqual([401, 401, 401, 401, 401]);
  });

  it.each([
    ['/auth/password', 'current_password', { new_password: 'another horse battery staple' }],
    ['/auth/email', 'current_password', { email: 'new@example.net' }],
    ['/auth/reauthenticate', 'password', {}],
  ])('shares the limit of the login with %s (L17)', async (path, field, body) => {
    const owner = await service.loginAs();
    const change = (secret: string) =>
      service.post(path, { token: owner.token, body: { ...body, [field]: secret }, ip: strange });
    await failTimes(2, owner.email);
    const codes: string[] = [];
    for (const secret of [wrong, wrong, wrong, wrong, password]) codes.push((await change(secret)).body.code);
    expect(codes).toEqual([
      ...Array<string>(3).fill('auth.wrong_current_password'),
      ...Array<string>(2).fill('auth.too_many_attempts'),
    ]);
    expect((await attempt(owner.name, password)).status).toBe(429);
    expect(await failuresOf(owner.user_id)).toBe(5);
    await elapse();
    expect((await change(password)).status).toBeLessThan(300);
  });

  it('shows operators the lockout by strangers, and leaves the version unchanged (L11)', async () => {
    const user = await service.createUser();
    const seen = async () => (await service.get(`/user/${user.user_id}`, service.admin)).body;
    const before = await seen();
    await failTimes(5, user.name);
    const during = await seen();
    expect([during.version, during.updated_at]).toEqual([before.version, before.updated_at]);
    expect(Date.parse(during.locked_until) - Date.parse(before.created_at)).toBeGreaterThan(29_000);
    await elapse();
    await attempt(user.name, password);
    expect((await seen()).locked_until).toBeNull();
    // The own address has a separate lockout, which affects no other user.
    await failTimes(6, user.name);
    expect(await failTimes(1, user.name, home)).toEqual([401]);
    expect((await attempt(user.name, password, '203.0.113.99')).status).toBe(200);
    expect((await seen()).locked_until).toBeNull();
  });

  it('verifies no password while the limiter cannot be read (L18)', async () => {
    const user = await service.createUser();
    await inTransaction(service, async (other) => {
      await other.query('lock table login_attempts in access exclusive mode');
      const { logins } = await hashCost(service, async () => {
        const { status, headers } = await attempt(user.name, password);
        expect([status, headers['retry-after']]).toEqual([503, '2']);
      });
      expect(logins).toBe(0);
    });
    expect((await attempt(user.name, password)).status).toBe(200);
  });

  it('does not count a rejection that says nothing about the password, but records it (L12)', async () => {
    const user = await service.createUser({ allowed_ips: ['198.51.100.0/24'] });
    const refused = async () => (await attempt(user.name, password)).body.code as string;
    expect([await refused(), await refused()]).toEqual(['auth.ip_not_allowed', 'auth.ip_not_allowed']);
    const reason = { after: 'auth.ip_not_allowed' };
    expect(await changesOf(service, 'login.failed', user.user_id)).toEqual([{ reason }, { reason }]);
    await failTimes(4, user.name);
    expect(await refused()).toBe('auth.ip_not_allowed');
    expect(await failTimes(5, user.name)).toEqual([401, 401, 401, 401, 401]);
    const open = `select 1 from login_attempts where account = $1 and (address <> '' or pending <> '{}')`;
    expect(await service.rows(open, [user.user_id])).toEqual([]);
  });

  it('keeps the counter of a user with a factor when the right password comes from outside (M12, L12)', async () => {
    const user = await service.createUser({ allowed_ips: ['198.51.100.0/24'] });
    await enrol(user.user_id);
    await failTimes(4, user.name);
    expect((await attempt(user.name, password)).body.code).toBe('auth.ip_not_allowed');
    expect(await failTimes(2, user.name)).toEqual([401, 429]);
  });

  it('removes the counters of a purged user (Z19)', async () => {
    const user = await service.loginAs();
    await failTimes(2, user.name);
    const counters = () =>
      service.rows(`select address from login_attempts where account = $1 order by address`, [user.user_id]);
    expect(await counters()).toEqual([{ address: '' }, { address: home }]);
    expect((await service.delete(`/user/${user.user_id}?purge=true`, service.admin)).status).toBe(204);
    expect(await counters()).toEqual([]);
  });

  it('removes old counters, but keeps lockouts that only a reset ends, of missing logins too (L5, L22)', async () => {
    const [gone, stays] = [await service.createUser(), await service.createUser()];
    for (const login of [gone.name, stays.name, 'unknown-old']) await attempt(login, wrong, far);
    await service.rows(
      `
        update login_attempts
        set failures = 100, locked_until = '9999-12-31 23:59:59.999Z'
        where account = $1 or length(account) = 43`,
      [stays.user_id],
    );
    await attempt('unknown-older', wrong, far);
    const attempts = service.inside<LoginAttemptsService>('LoginAttemptsService');
    const count = async () =>
      (await service.rows<{ n: number }>(`select count(*)::integer as n from login_attempts`))[0]?.n;
    const before = await count();
    await attempts.forgetOld();
    expect(await count()).toBe(before);
    // Other locks of these tests would have ended long ago.
    await service.rows(`
      update login_attempts
      set
        used_on = current_date - 31,
        locked_until = case when locked_until > now() + interval '1 day' then locked_until end`);
    await attempts.forgetOld();
    for (const login of [stays.name, 'unknown-old']) expect((await attempt(login, wrong, far)).status).toBe(429);
    for (const login of [gone.name, 'unknown-older']) expect((await attempt(login, wrong, far)).status).toBe(401);
  });

  it('lifts the lockouts of passwords and codes by an unlock, and records it (L5)', async () => {
    const { name, user_id } = await service.createUser();
    const shown = async () => (await service.get(`/user/${user_id}`, service.admin)).body.locked_until;
    const app = await enrol(user_id);
    const challenge = await firstStep(service, name, strange);
    const step = (code: string, given = challenge) =>
      service.post('/auth/second-factor', { body: { challenge: given, code }, ip: strange });
    for (let failures = 0; failures < 5; failures++) expect((await step(app.wrongCode())).status).toBe(401);
    await failTimes(5, name);
    expect((await attempt(name, password)).status).toBe(429);
    expect(await shown()).not.toBeNull();
    expect((await service.post(`/user/${user_id}/unlock`, service.admin)).status).toBe(204);
    expect(await shown()).toBeNull();
    expect((await step(app.code(), await firstStep(service, name, strange))).status).toBe(200);
    expect(await changesOf(service, 'user.unlocked', user_id)).toHaveLength(1);
  });

  describe('at known addresses', () => {
    /** two addresses of one user, and an address where the last login was too long ago */
    const [own, expired] = [['192.0.2.1', '192.0.2.2'], '192.0.2.3'];
    const missing = 'account not in (select user_id::text from users)';
    const forget = () => service.rows(`delete from login_attempts where ${missing}`);

    /** Returns the addresses at which a missing login has a separate counter. */
    const ownCounters = async (login: string, ips: string[], at?: ServiceProcess): Promise<string> => {
      await forget();
      for (const ip of ips) await attempt(login, wrong, ip, at);
      const counters = `select address from login_attempts where address <> '' and ${missing} order by address`;
      return (await service.rows<{ address: string }>(counters)).map(({ address }) => address).join();
    };

    /** The separate counters of each missing login. */
    const found = new Map<string, string>();
    beforeAll(async () => {
      const [one, two] = [await service.createUser(), await service.createUser()];
      for (const ip of own) expect((await attempt(one.name, password, ip)).status).toBe(200);
      expect((await attempt(two.name, password, expired)).status).toBe(200);
      await service.rows(`update login_attempts set known_until = now() - interval '1 second' where address = $1`, [
        expired,
      ]);
      for (const login of missingLogins) found.set(login, await ownCounters(login, ['198.51.100.30', expired, ...own]));
    });

    it('gives a missing login separate counters at either all known addresses of a user or none (L20)', () =>
      expect(new Set(found.values())).toEqual(new Set(['', own.join()])));

    it('gives a missing login the same counters on another instance (L20)', async () => {
      for (const login of missingLogins)
        expect([login, await ownCounters(login.toUpperCase(), own, other)]).toEqual([login, found.get(login)]);
    });

    it('returns the headers of a locked user for a locked missing login, at either counter (L20)', async () => {
      const [ip = ''] = own;
      const [home, away] = [await service.createUser(), await service.createUser()];
      expect((await attempt(home.name, password, ip)).status).toBe(200);
      /** Uses up the failures at the address, and returns the responses there and elsewhere. */
      const shapeOf = async (login: string) => {
        expect(await failTimes(6, login, ip)).toEqual([401, 401, 401, 401, 401, 429]);
        const answers: TestAnswer[] = [];
        for (const at of [elsewhere, ip, elsewhere]) answers.push(await attempt(login, wrong, at));
        return answers.map((answer) => {
          const { 'retry-after': wait, ratelimit, ...headers } = answer.headers;
          const isShort = wait === undefined ? null : Number(wait) > 0 && Number(wait) <= 30;
          const agrees = ratelimit === undefined ? null : ratelimit === `"account";r=0;t=${String(wait)}`;
          return [visiblePart({ ...answer, headers }), isShort, agrees];
        });
      };
      const shapes = [await shapeOf(home.name), await shapeOf(away.name)];
      expect(shapes[0]).not.toEqual(shapes[1]);
      await forget();
      for (const [index, counters] of [own.join(), ''].entries()) {
        const login = missingLogins.find((one) => found.get(one) === counters) ?? '';
        expect(await shapeOf(login)).toEqual(shapes[index]);
      }
    });

    // The last test: it makes the addresses unknown.
    it('does not treat an address as known because a missing login has a counter there (L20)', async () => {
      await service.rows('delete from login_attempts where address = any($1) and known_until is not null', [own]);
      for (const login of missingLogins) expect([login, await ownCounters(login, own)]).toEqual([login, '']);
    });
  });

  describe('responses', () => {
    let logins: Record<string, { login: string; password: string }>;
    let known: { user_id: string; name: string; email: string };
    let disabled: { user_id: string; name: string };

    beforeAll(async () => {
      const { token } = service.admin;
      [known, disabled] = [await service.createUser(), await service.createUser()];
      const [deleted, expired] = [await service.createUser(), await service.createUser()];
      const invited = await service.inviteUser();
      await service.patch(`/user/${disabled.user_id}`, { token, body: { status: 'disabled' } });
      await service.delete(`/user/${deleted.user_id}`, { token });
      await service.rows(`update credentials set expires_at = now() - interval '1 second' where user_id = $1`, [
        expired.user_id,
      ]);
      logins = {
        'wrong password': { login: known.name, password: wrong },
        'wrong password, by address': { login: known.email, password: wrong },
        'unknown name': { login: 'unknown-name', password },
        disabled: { login: disabled.name, password },
        'disabled, wrong password': { login: disabled.name, password: wrong },
        deleted: { login: deleted.name, password },
        'invited, without a password': { login: invited.name, password },
        'initial password expired': { login: expired.name, password },
      };
      expect((await attempt({ login: known.name, password })).status).toBe(200);
    });
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
      const { name, user_id } = disabled;
      await service.rows('delete from login_attempts');
      const codes = [];
      while (codes.length < 6) codes.push((await attempt({ login: name, password })).body.code as string);
      expect(codes).toEqual([...Array<string>(5).fill('auth.invalid_credentials'), 'auth.too_many_attempts']);
      expect((await changesOf(service, 'login.failed', user_id)).at(-1)).toEqual({ reason: { after: 'disabled' } });
      expect(await changesOf(service, 'login.locked', user_id)).toHaveLength(1);
    });

    it('finds no user by missing values (L16)', async () => {
      const shapes = [{}, { login: null }, { password }, { login: null, password }, { login: '', password }];
      for (const body of [...shapes, { login: '%', password }, { login: [], password }, { login: {}, password: {} }])
        expect([400, 401]).toContain((await attempt(body)).status);
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
