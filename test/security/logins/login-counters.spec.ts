import * as argon2 from '@node-rs/argon2';
import { Client } from 'pg';
import { LoginAttemptsService } from '../../../src/credentials/login-attempts.service';
import { Authenticator } from '../../support/second-factors';
import { adminEmail, password, type TestAnswer, TestService } from '../../support/service';

// The real function, with its calls counted.
jest.mock('@node-rs/argon2', () => {
  const real = jest.requireActual<typeof argon2>('@node-rs/argon2');
  return { ...real, verify: jest.fn(real.verify) };
});
const evaluations = jest.mocked(argon2.verify).mock.calls;

const wrong = `${password}!`;
const home = '127.0.0.1';
const strange = '203.0.113.9';
/** An address from which no user logs in. */
const far = '192.0.2.77';

describe('counters of failed logins', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const attempt = (login: string, secret = wrong, ip = strange): Promise<TestAnswer> =>
    service.post('/auth/login', { body: { login, password: secret }, ip });

  const failTimes = async (times: number, login: string, ip?: string): Promise<TestAnswer[]> => {
    const answers: TestAnswer[] = [];
    while (answers.length < times) answers.push(await attempt(login, wrong, ip));
    return answers;
  };

  it('verifies no password while the limiter cannot be read (L18)', async () => {
    const user = await service.createUser();
    const client = new Client({ connectionString: service.config.DATABASE_URL });
    await client.connect();
    try {
      await client.query('begin; lock table login_attempts in access exclusive mode');
      const before = evaluations.length;
      const { status, headers } = await attempt(user.name, password);
      expect([status, headers['retry-after'], evaluations.length - before]).toEqual([503, '2', 0]);
    } finally {
      await client.end();
    }
    expect((await attempt(user.name, password)).status).toBe(200);
  });

  it('counts a failure that cannot be recorded (L18)', async () => {
    const user = await service.createUser();
    const client = new Client({ connectionString: service.config.DATABASE_URL });
    await client.connect();
    try {
      await client.query('begin');
      await client.query('select 1 from users where user_id = $1 for update', [user.user_id]);
      // Not a 503, which would not count.
      expect((await failTimes(1, user.name)).map(({ status }) => status)).toEqual([401]);
    } finally {
      await client.end();
    }
    await service.rows(
      `
        update login_attempts
        set pending = (select jsonb_object_agg(key, value::float8 - 15) from jsonb_each_text(pending))
        where account = $1`,
      [user.user_id],
    );
    expect((await failTimes(5, user.name)).map(({ status }) => status)).toEqual([401, 401, 401, 401, 429]);
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
    await left(20);
    const before = evaluations.length;
    const { status, headers } = await attempt(user.name, password);
    expect([status, evaluations.length - before]).toEqual([429, 0]);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(25);
    await left(14);
    const later = await attempt(user.name, password);
    expect([later.status, evaluations.length - before]).toEqual([429, 0]);
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
    expect((await failTimes(5, user.name)).map(({ status }) => status)).toEqual(Array<number>(5).fill(401));
    expect(
      await service.rows(`select 1 from login_attempts where account = $1 and (address <> '' or pending <> '{}')`, [
        user.user_id,
      ]),
    ).toEqual([]);
  });

  it('keeps the counter of a user with a factor when the right password comes from outside (M12, L12)', async () => {
    const user = await service.createUser({ allowed_ips: ['198.51.100.0/24'] });
    await Authenticator.enrol((text, values) => service.rows(text, values), user.user_id);
    await failTimes(4, user.name);
    expect((await attempt(user.name, password)).body.code).toBe('auth.ip_not_allowed');
    expect((await failTimes(2, user.name)).map(({ status }) => status)).toEqual([401, 429]);
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
    const attempts = service.app.get(LoginAttemptsService, { strict: false });
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
    expect((await attempt(adminEmail, password)).status).toBe(200);
  });
});
