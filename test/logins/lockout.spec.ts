import { Client } from 'pg';
import type { LoginAttemptsService } from '../../src/auth/passwords/login-attempts.service';
import { hashCost, METRICS_TOKEN } from '../support/hash-counts';
import { createKey } from '../support/keys';
import { mailedResetToken } from '../support/links';
import { Authenticator, firstStep } from '../support/second-factors';
import { password, type TestAnswer, TestService } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { visiblePart } from '../support/tokens';

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
  const failTimes = async (times: number, login: string, ip?: string): Promise<TestAnswer[]> => {
    const answers: TestAnswer[] = [];
    while (answers.length < times) answers.push(await attempt(login, wrong, ip));
    return answers;
  };
  const statusesOf = (answers: TestAnswer[]) => answers.map(({ status }) => status);
  const enrol = (user_id: string) => Authenticator.enrol((text, values) => service.rows(text, values), user_id);

  /** Ends the current lockout. */
  const elapse = () =>
    service.rows(
      `
        update login_attempts
        set locked_until = now()
        where locked_until < now() + interval '2 hours' and locked_until > now()`,
    );

  const failuresOf = async (user_id: string): Promise<number> => {
    const [row] = await service.rows<{ n: number }>(
      `select count(*)::integer as n from events where event_type = 'login.failed' and target_id = $1`,
      [user_id],
    );
    return row?.n ?? 0;
  };

  it('verifies five of 30 wrong passwords, and not the right one within the lockout (L5)', async () => {
    const user = await service.createUser();
    const { logins } = await hashCost(service, async () => {
      const statuses = statusesOf(await failTimes(30, user.name));
      expect(statuses).toEqual([...Array<number>(5).fill(401), ...Array<number>(25).fill(429)]);
      const refused = await attempt(user.name, password);
      expect([refused.status, refused.body.code]).toEqual([429, 'auth.too_many_attempts']);
    });
    expect([logins, await failuresOf(user.user_id)]).toEqual([5, 5]);
    const locked = await service.rows<{ changes: object }>(
      `select changes from events where event_type = 'login.locked' and target_id = $1`,
      [user.user_id],
    );
    expect(locked).toEqual([{ changes: { failures: { after: 5 }, locked_until: { after: expect.any(String) } } }]);
  });

  it('announces true waits: one attempt after each, doubling up to an hour (L6)', async () => {
    const user = await service.createUser();
    await failTimes(4, user.name);
    for (const pause of [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]) {
      expect((await attempt(user.name)).status).toBe(401);
      const { status, headers } = await attempt(user.name, password);
      const wait = Number(headers['retry-after']);
      expect([status, headers['ratelimit-policy'], headers['ratelimit']]).toEqual([
        429,
        `"account";q=1;w=${pause}`,
        `"account";r=0;t=${wait}`,
      ]);
      expect(wait).toBeGreaterThan(0);
      expect(wait).toBeLessThanOrEqual(pause);
      const [row] = await service.rows<{ seconds: number }>(
        `select extract(epoch from locked_until - now())::float8 as seconds from login_attempts where account = $1`,
        [user.user_id],
      );
      expect(row?.seconds).toBeLessThanOrEqual(wait);
      await elapse();
    }
    await service.rows(`update login_attempts set locked_until = now() + interval '40 minutes' where account = $1`, [
      user.user_id,
    ]);
    const shorter = Number((await attempt(user.name)).headers['retry-after']);
    expect(shorter).toBeLessThanOrEqual(2_400);
    expect(shorter).toBeGreaterThan(1_800);
    await elapse();
    expect((await attempt(user.name, password)).status).toBe(200);
    expect(statusesOf(await failTimes(5, user.name))).toEqual(Array<number>(5).fill(401));
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
    const [unused, other] = ['198.51.100.4', '198.51.100.5'];
    const user = await service.createUser();
    const invited = await service.createUser({ password: undefined, must_change_password: undefined });
    const seen = async (login: string) =>
      (await failTimes(20, login, unused)).map((answer) => {
        const { 'retry-after': wait, ratelimit, ...headers } = answer.headers;
        return [JSON.stringify(visiblePart({ ...answer, headers })), wait === undefined, ratelimit === undefined];
      });
    const known = await seen(user.name);
    for (const login of ['unknown-name', 'unknown@example.com', invited.email])
      expect(await seen(login)).toEqual(known);
    expect((await attempt('unknown-name', wrong, other)).status).toBe(429);
  });

  it('verifies five passwords for one user in any spelling of the login (L10)', async () => {
    const user = await service.createUser();
    const { name, email } = user;
    const names = [
      name,
      name.toUpperCase(),
      email,
      email.toUpperCase(),
      `${name.toUpperCase()}@${email.split('@')[1]}`,
    ];
    const { logins } = await hashCost(service, async () => {
      for (let round = 0; round < 4; round++) for (const login of names) await attempt(login);
    });
    expect([logins, await failuresOf(user.user_id)]).toEqual([5, 5]);
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
    const likes = [
      ` ${name}`,
      `${name} `,
      ` ${email}`,
      `${email}.`,
      email.replace('e', 'ｅ'),
      `K${name.slice(1)}`,
      name.replace('s', 'ſ'),
    ];
    for (const login of likes) expect([200]).not.toContain((await attempt(login, password)).status);
  });

  it('lets the owner log in from a known address, and reset, during a lockout by strangers (L11)', async () => {
    const owner = await service.loginAs();
    await failTimes(6, owner.name);
    expect((await attempt(owner.name, password)).status).toBe(429);
    expect((await attempt(owner.name, password, home)).status).toBe(200);
    expect((await service.get('/user', { token: owner.token })).status).toBe(200);
    // The login of the owner does not clear the counter of strangers.
    expect((await attempt(owner.name, password)).status).toBe(429);
    const token = await mailedResetToken(service, owner.email);
    expect(
      (await service.post(`/auth/reset/${token}`, { body: { password: 'another horse battery staple' } })).status,
    ).toBe(204);
    expect((await attempt(owner.name, 'another horse battery staple')).status).toBe(200);
  });

  it('limits a known address and its /64 separately for 30 days, like any other (L11)', async () => {
    const owner = await service.createUser();
    expect((await attempt(owner.name, password, '2001:db8:0:7::1')).status).toBe(200);
    await failTimes(5, owner.name);
    expect((await attempt(owner.name, password, '2001:db8:0:8::1')).status).toBe(429);
    expect((await attempt(owner.name, password, '2001:db8:0:7:ffff::2')).status).toBe(200);
    expect(statusesOf(await failTimes(6, owner.name, '2001:db8:0:7::3'))).toEqual([401, 401, 401, 401, 401, 429]);
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
    expect(statusesOf(await failTimes(2, one.name))).toEqual([401, 429]);
    expect(statusesOf(await failTimes(5, other.name))).toEqual(Array<number>(5).fill(401));
  });

  it.each([
    ['/auth/password', { new_password: 'another horse battery staple' }],
    ['/auth/email', { email: 'new@example.net' }],
  ])('shares the limit of the login with %s (L17)', async (path, body) => {
    const owner = await service.loginAs();
    const change = (current_password: string) =>
      service.post(path, { token: owner.token, body: { ...body, current_password }, ip: strange });
    await failTimes(2, owner.email);
    const answers = [
      await change(wrong),
      await change(wrong),
      await change(wrong),
      await change(wrong),
      await change(password),
    ];
    expect(answers.map((answer) => answer.body.code)).toEqual([
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
    const seen = async () => (await service.get(`/user/${user.user_id}`, { token: service.admin.token })).body;
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
    expect((await failTimes(1, user.name, home))[0]?.status).toBe(401);
    expect((await attempt(user.name, password, '203.0.113.99')).status).toBe(200);
    expect((await seen()).locked_until).toBeNull();
  });

  it('verifies no password while the limiter cannot be read (L18)', async () => {
    const user = await service.createUser();
    const client = new Client({ connectionString: service.config.DATABASE_URL });
    await client.connect();
    try {
      await client.query('begin; lock table login_attempts in access exclusive mode');
      const { logins } = await hashCost(service, async () => {
        const { status, headers } = await attempt(user.name, password);
        expect([status, headers['retry-after']]).toEqual([503, '2']);
      });
      expect(logins).toBe(0);
    } finally {
      await client.end();
    }
    expect((await attempt(user.name, password)).status).toBe(200);
  });

  it('counts the attempts of a killed process as failures after 15 seconds (L7)', async () => {
    const user = await service.createUser();
    const left = (seconds: number) =>
      service.rows(
        `
          insert into login_attempts (account, address, used_on, pending)
          select $1, '', current_date, jsonb_object_agg(n::text, extract(epoch from now()) - $2::integer)
          from generate_series(1, 5) n
          on conflict (account, address)
          do update set pending = excluded.pending, failures = 0, locked_until = null`,
        [user.user_id, seconds],
      );
    const { logins } = await hashCost(service, async () => {
      await left(20);
      const { status, headers } = await attempt(user.name, password);
      expect(status).toBe(429);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(25);
    });
    expect(logins).toBe(0);
  });

  it('does not count a rejection that says nothing about the password (L12)', async () => {
    const user = await service.createUser({ allowed_ips: ['198.51.100.0/24'] });
    for (let round = 0; round < 7; round++)
      expect((await attempt(user.name, password)).body.code).toBe('auth.ip_not_allowed');
    // Each rejection is recorded, because the password was right and may be stolen.
    const refused = `
      select ip::text
      from events
      where event_type = 'login.failed'
        and target_id = $1
        and changes -> 'reason' ->> 'after' = $2`;
    expect(await service.rows(refused, [user.user_id, 'auth.ip_not_allowed'])).toHaveLength(7);
    await failTimes(4, user.name);
    expect((await attempt(user.name, password)).body.code).toBe('auth.ip_not_allowed');
    expect(statusesOf(await failTimes(5, user.name))).toEqual(Array<number>(5).fill(401));
    expect(
      await service.rows(`select 1 from login_attempts where account = $1 and (address <> '' or pending <> '{}')`, [
        user.user_id,
      ]),
    ).toEqual([]);
  });

  it('keeps the counter of a user with a factor when the right password comes from outside (M12, L12)', async () => {
    const user = await service.createUser({ allowed_ips: ['198.51.100.0/24'] });
    await enrol(user.user_id);
    await failTimes(4, user.name);
    expect((await attempt(user.name, password)).body.code).toBe('auth.ip_not_allowed');
    expect(statusesOf(await failTimes(2, user.name))).toEqual([401, 429]);
  });

  it('removes the counters of a purged user (Z19)', async () => {
    const user = await service.loginAs();
    await failTimes(2, user.name);
    const counters = () =>
      service.rows(`select address from login_attempts where account = $1 order by address`, [user.user_id]);
    expect(await counters()).toEqual([{ address: '' }, { address: home }]);
    expect((await service.delete(`/user/${user.user_id}?purge=true`, { token: service.admin.token })).status).toBe(204);
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

  describe('POST /user/{user_id}/unlock', () => {
    const post = (url: string, request: { body: object; ip?: string }) => service.post(url, request);
    const unlock = (user_id: string, token: string) => service.post(`/user/${user_id}/unlock`, { token });
    const shown = async (user_id: string) =>
      (await service.get(`/user/${user_id}`, { token: service.admin.token })).body.locked_until;

    it('lifts the lockouts of passwords and codes, and records it (L5)', async () => {
      const { name, user_id } = await service.createUser();
      const app = await enrol(user_id);
      const challenge = await firstStep(post, name, strange);
      const step = (code: string, given = challenge) =>
        post('/auth/second-factor', { body: { challenge: given, code }, ip: strange });
      for (let failures = 0; failures < 5; failures++) expect((await step(app.wrongCode())).status).toBe(401);
      for (let failures = 0; failures < 5; failures++) await attempt(name);
      expect((await attempt(name, password)).status).toBe(429);
      expect(await shown(user_id)).not.toBeNull();
      expect((await unlock(user_id, service.admin.token)).status).toBe(204);
      expect(await shown(user_id)).toBeNull();
      expect((await step(app.code(), await firstStep(post, name, strange))).status).toBe(200);
      const recorded = `select actor_id from events where event_type = 'user.unlocked' and target_id = $1`;
      expect(await service.rows(recorded, [user_id])).toEqual([{ actor_id: service.admin.user_id }]);
    });

    it('is rejected for oneself and with an API key, so that codes stay limited (M3)', async () => {
      const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      expect((await unlock(operator.user_id, operator.token)).body.code).toBe('user.self_protected');
      const key = await createKey(service, ['user:read', 'user:update']);
      const { user_id } = await service.createUser();
      expect((await unlock(user_id, key.key)).body.code).toBe('access.denied');
    });

    it('is rejected for protected users and outside the scope (Z9)', async () => {
      const operator = await service.loginAs({ user_type: 'system', roles: ['operator'] });
      const administrator = await service.createUser({ user_type: 'system', roles: ['administrator'] });
      const manager = await service.loginAs({ roles: ['carrier_administrator'] });
      const foreign = await service.createUser({ carrier_id: 'c2' });
      expect((await unlock(administrator.user_id, operator.token)).body.code).toBe('access.protected_user');
      expect((await unlock(foreign.user_id, manager.token)).body.code).toBe('user.not_found');
      expect((await unlock(foreign.user_id, operator.token)).status).toBe(204);
    });
  });

  describe('at known addresses', () => {
    let count = 0;

    /** Logs in from a new address, as a new user or the named one, and returns the address. */
    const knownAddress = async (name?: string): Promise<string> => {
      const ip = `192.0.2.${++count}`;
      expect((await attempt(name ?? (await service.createUser()).name, password, ip)).status).toBe(200);
      return ip;
    };

    /**
     * Uses up the failures at one address, then logs in from another.
     * The status 401 shows that the first address has a separate counter.
     */
    const probe = async (login: string, ip: string): Promise<TestAnswer> => {
      for (let failures = 0; failures < 5; failures++) expect((await attempt(login, wrong, ip)).status).toBe(401);
      expect((await attempt(login, wrong, ip)).status).toBe(429);
      return attempt(login, wrong, elsewhere);
    };

    const forget = () =>
      service.rows(`delete from login_attempts where account not in (select user_id::text from users)`);

    /** Returns the addresses at which a missing login has a separate counter. */
    const ownCounters = async (login: string, ips: string[]): Promise<string[]> => {
      await forget();
      for (const ip of ips) expect((await attempt(login, wrong, ip)).status).toBe(401);
      const counters = `
        select address
        from login_attempts
        where address <> '' and account not in (select user_id::text from users)`;
      return (await service.rows<{ address: string }>(counters)).map(({ address }) => address).sort();
    };

    it('returns the headers of a locked user for a locked missing login, at either counter (L20)', async () => {
      const ip = await knownAddress();
      const [home, away] = [await service.createUser(), await service.createUser()];
      expect((await attempt(home.name, password, ip)).status).toBe(200);
      const shapeOf = async (login: string) => {
        const answers = [
          await probe(login, ip),
          await attempt(login, wrong, ip),
          await attempt(login, wrong, elsewhere),
        ];
        return answers.map((answer) => {
          const { 'retry-after': wait, ratelimit, ...headers } = answer.headers;
          const seconds = wait === undefined ? null : Number(wait) > 0 && Number(wait) <= 30;
          return [
            visiblePart({ ...answer, headers }),
            seconds,
            ratelimit === undefined ? null : ratelimit === `"account";r=0;t=${String(wait)}`,
          ];
        });
      };
      const shapes = [await shapeOf(home.name), await shapeOf(away.name)].map((shape) => JSON.stringify(shape));
      expect(new Set(shapes).size).toBe(2);
      const seen = new Set<string>();
      for (const login of missingLogins) seen.add(JSON.stringify(await shapeOf(`shape-${login}`)));
      expect([...seen].sort()).toEqual(shapes.sort());
    });

    it('gives missing logins no separate counter where no user has logged in within 30 days (L20)', async () => {
      const [expired, live] = [await knownAddress(), await knownAddress()];
      await service.rows(`update login_attempts set known_until = now() - interval '1 second' where address = $1`, [
        expired,
      ]);
      const seen: string[] = [];
      for (const login of missingLogins) seen.push(...(await ownCounters(login, ['198.51.100.30', expired, live])));
      expect(new Set(seen)).toEqual(new Set([live]));
      // The counter of a missing login does not make an address known.
      await service.rows(`delete from login_attempts where address = $1 and known_until is not null`, [live]);
      for (const login of missingLogins) expect(await ownCounters(login, [live])).toEqual([]);
    });

    it('reveals no more at many addresses of one user than at one of them (L20)', async () => {
      const { name } = await service.createUser();
      const own = [
        await knownAddress(name),
        await knownAddress(name),
        await knownAddress(name),
        await knownAddress(name),
      ].sort();
      const patterns = new Set<string>();
      for (const login of missingLogins) patterns.add((await ownCounters(login, own)).join());
      expect(patterns).toEqual(new Set(['', own.join()]));
    });

    it('gives a missing login the same counters on another instance (L20)', async () => {
      const ip = await knownAddress();
      const here: string[][] = [];
      for (const login of missingLogins) here.push(await ownCounters(login, [ip]));
      expect(here).toEqual(expect.arrayContaining([[], [ip]]));
      await forget();
      for (const [index, login] of missingLogins.entries()) {
        await attempt(login.toUpperCase(), wrong, ip, other);
        const counters = await service.rows<{ address: string }>(
          `delete from login_attempts where length(account) = 43 returning address`,
        );
        expect([login, counters]).toEqual([login, [{ address: here[index]?.[0] ?? '' }]]);
      }
    });
  });
});
