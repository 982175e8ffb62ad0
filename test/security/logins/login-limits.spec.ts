import * as argon2 from '@node-rs/argon2';
import { mailedResetToken } from '../../support/links';
import { password, type TestAnswer, TestService } from '../../support/service';
import { visiblePart } from '../../support/tokens';

// The real function, with its calls counted.
jest.mock('@node-rs/argon2', () => {
  const real = jest.requireActual<typeof argon2>('@node-rs/argon2');
  return { ...real, verify: jest.fn(real.verify) };
});
const evaluations = jest.mocked(argon2.verify).mock.calls;

const wrong = `${password}!`;
const home = '127.0.0.1';
const strange = '203.0.113.9';

describe('guessing passwords', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const attempt = (login: string, secret = wrong, ip = strange): Promise<TestAnswer> =>
    service.post('/auth/login', { body: { login, password: secret }, ip });

  /** Ends the current lockout. */
  const elapse = () =>
    service.rows(
      `
        update login_attempts
        set locked_until = now()
        where locked_until < now() + interval '2 hours' and locked_until > now()`,
    );

  const failTimes = async (times: number, login: string, ip?: string): Promise<TestAnswer[]> => {
    const answers: TestAnswer[] = [];
    while (answers.length < times) answers.push(await attempt(login, wrong, ip));
    return answers;
  };

  const failuresOf = async (user_id: string): Promise<number> => {
    const [row] = await service.rows<{ n: number }>(
      `select count(*)::integer as n from events where event_type = 'login.failed' and target_id = $1`,
      [user_id],
    );
    return row?.n ?? 0;
  };

  it('verifies five of 150 wrong passwords, and not the right one within the lockout (L5)', async () => {
    const user = await service.createUser();
    const before = evaluations.length;
    const statuses = (await failTimes(150, user.name)).map(({ status }) => status);
    expect(statuses).toEqual([...Array<number>(5).fill(401), ...Array<number>(145).fill(429)]);
    const refused = await attempt(user.name, password);
    expect([refused.status, refused.body.code]).toEqual([429, 'auth.too_many_attempts']);
    expect([evaluations.length - before, await failuresOf(user.user_id)]).toEqual([5, 5]);
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
      expect(wait).toBeGreaterThan(pause - 10);
      expect(wait).toBeLessThanOrEqual(pause);
      const [row] = await service.rows<{ seconds: number }>(
        `select extract(epoch from locked_until - now())::float8 as seconds from login_attempts where account = $1`,
        [user.user_id],
      );
      expect(Math.abs((row?.seconds ?? 0) - wait)).toBeLessThan(5);
      await elapse();
    }
    expect((await attempt(user.name, password)).status).toBe(200);
    expect((await failTimes(5, user.name)).map(({ status }) => status)).toEqual(Array<number>(5).fill(401));
  });

  it('applies the configured threshold, durations and hard stop (L5)', async () => {
    const user = await service.createUser();
    const { LOCKOUT_THRESHOLD, LOCKOUT_FIRST_SECONDS, LOCKOUT_MAX_SECONDS, LOCKOUT_HARD_LIMIT } = service.config;
    const usual = { LOCKOUT_THRESHOLD, LOCKOUT_FIRST_SECONDS, LOCKOUT_MAX_SECONDS, LOCKOUT_HARD_LIMIT };
    Object.assign(service.config, {
      LOCKOUT_THRESHOLD: 2,
      LOCKOUT_FIRST_SECONDS: 100,
      LOCKOUT_MAX_SECONDS: 150,
      LOCKOUT_HARD_LIMIT: 4,
    });
    try {
      const rounds: unknown[] = [];
      for (let failure = 1; failure <= 4; failure++) {
        expect((await attempt(user.name)).status).toBe(401);
        if (failure === 1) continue;
        const { status, headers } = await attempt(user.name, password);
        rounds.push([status, headers['ratelimit-policy']]);
        await elapse();
      }
      const policy = (seconds: number) => [429, `"account";q=1;w=${seconds}`];
      expect(rounds).toEqual([policy(100), policy(150), policy(86_400)]);
      expect((await attempt(user.name, password)).body.detail).toContain('locked until its password is reset');
    } finally {
      Object.assign(service.config, usual);
    }
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
    const before = evaluations.length;
    const names = [
      user.name,
      user.name.toUpperCase(),
      user.email,
      user.email.toUpperCase(),
      user.email.replace('@', '@'.toUpperCase()),
    ];
    for (let round = 0; round < 4; round++) for (const login of names) await attempt(login);
    expect([evaluations.length - before, await failuresOf(user.user_id)]).toEqual([5, 5]);
    for (const login of [
      'No-Such-User',
      'no-such-user',
      'NO-SUCH-USER',
      'no-such-USER',
      'no-such-useR',
      'no-such-user',
    ])
      await attempt(login);
    expect(evaluations.length - before).toBe(10);
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
    expect((await failTimes(6, owner.name, '2001:db8:0:7::3')).map(({ status }) => status)).toEqual([
      401, 401, 401, 401, 401, 429,
    ]);
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
    expect((await failTimes(2, one.name)).map(({ status }) => status)).toEqual([401, 429]);
    expect((await failTimes(5, other.name)).map(({ status }) => status)).toEqual(Array<number>(5).fill(401));
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
});
