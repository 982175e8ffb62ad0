import { hash as hashBcrypt } from '@node-rs/bcrypt';
import { Client } from 'pg';
import { document } from '../../support/document';
import { Authenticator, firstStep } from '../../support/second-factors';
import { password, TestService } from '../../support/service';
import { until } from '../../support/until';

const ip = '198.51.100.7';

describe('the first step of a login with a second factor', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ SESSIONS_PER_USER_MAX: '1' });
  });
  afterAll(() => service.close());

  const rows = (text: string, values: unknown[]) => service.rows(text, values);
  const post = (url: string, request: { body: object; ip?: string }) => service.post(url, request);

  const events = (user_id: string) =>
    service
      .rows<{ event_type: string }>(
        `select event_type from events where target_id = $1 and event_type like 'login.%' order by event_id`,
        [user_id],
      )
      .then((found) => found.map(({ event_type }) => event_type));

  /** Everything that a login changes. */
  const stateOf = async (user_id: string) => ({
    user: await service.rows(`select to_jsonb(users) - 'second_factors' as user from users where user_id = $1`, [
      user_id,
    ]),
    credentials: await service.rows('select * from credentials where user_id = $1', [user_id]),
    logins: await service.rows('select * from user_logins where user_id = $1', [user_id]),
    seen: await service.rows('select * from user_seen where user_id = $1', [user_id]),
    sessions: await service.rows('select * from sessions where user_id = $1', [user_id]),
    counters: await service.rows('select * from login_attempts where account like $1', [`%${user_id}`]),
  });

  /** A user with a session, 3 failures, an old hash of a weak initial password, and a factor. */
  async function user() {
    const { name, user_id } = await service.createUser();
    await service.login(name);
    for (let failures = 0; failures < 3; failures++)
      await post('/auth/login', { body: { login: name, password: `${password}!` }, ip });
    await service.rows(
      `
        update credentials
        set password_hash = $2, policy_checked = false, expires_at = now() + interval '1 day'
        where user_id = $1`,
      [user_id, await hashBcrypt('rosebud', { cost: 4 })],
    );
    return { name, user_id, app: await Authenticator.enrol(rows, user_id) };
  }
  const enter = (login: string) => post('/auth/login', { body: { login, password: 'rosebud' }, ip });

  it('has no effect but a challenge and its event (M12)', async () => {
    const { name, user_id } = await user();
    const before = await stateOf(user_id);
    expect(before.counters).toContainEqual(expect.objectContaining({ address: '', failures: 3 }));
    const answer = await enter(name);
    expect(answer.body).toMatchObject({ code: 'auth.second_factor_required', expires_in: 300, factors: ['totp'] });
    expect(answer.body.challenge).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(await stateOf(user_id)).toEqual(before);
    expect((await events(user_id)).at(-1)).toBe('login.challenged');
  });

  it('leaves each of these effects to the second step (M12)', async () => {
    const { name, user_id, app } = await user();
    const before = await stateOf(user_id);
    const { challenge } = (await enter(name)).body;
    const answer = await post('/auth/second-factor', { body: { challenge, code: app.code() }, ip });
    expect([answer.status, answer.body.user.must_change_password]).toEqual([200, true]);
    const after = await stateOf(user_id);
    expect(after.credentials).toEqual([
      expect.objectContaining({
        policy_checked: true,
        expires_at: null,
        password_hash: expect.stringMatching(/^\$argon2id/),
      }),
    ]);
    expect(after.logins).not.toEqual(before.logins);
    expect(after.sessions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ended_reason: 'replaced' }),
        expect.objectContaining({ session_id: answer.body.session_id, ended_at: null, amr: ['pwd', 'otp', 'mfa'] }),
      ]),
    );
    expect(after.counters).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ account: user_id, address: '', failures: 0 }),
        expect.objectContaining({ account: user_id, address: ip, known_until: expect.any(Date) }),
      ]),
    );
    expect((await events(user_id)).slice(-2)).toEqual(['login.challenged', 'login.succeeded']);
  });

  it('stores only the hash of a challenge, and keeps five challenges of a user (M3)', async () => {
    const { name, user_id } = await service.createUser();
    const app = await Authenticator.enrol(rows, user_id);
    const challenges: string[] = [];
    for (let index = 0; index < 7; index++) challenges.push(await firstStep(post, name));
    const stored = await service.rows('select * from login_challenges where user_id = $1 and expires_at > now()', [
      user_id,
    ]);
    expect(stored).toHaveLength(5);
    for (const challenge of challenges) expect(JSON.stringify(stored)).not.toContain(challenge);
    for (const [index, challenge] of challenges.entries()) {
      const { body } = await post('/auth/second-factor', { body: { challenge, recovery_code: 'wrong' } });
      expect([index, body.code]).toEqual([index, index < 2 ? 'auth.challenge_invalid' : 'auth.invalid_second_factor']);
    }
    const challenge = challenges.at(-1);
    expect((await post('/auth/second-factor', { body: { challenge, code: app.code() } })).status).toBe(200);
  });

  it('keeps the challenge of a known address while a stranger with the password requests others (L11)', async () => {
    const { name, user_id } = await service.createUser();
    const app = await Authenticator.enrol(rows, user_id);
    const [home, away] = ['192.0.2.77', '198.51.100.8'];
    const complete = (challenge: string, at: string) =>
      post('/auth/second-factor', { body: { challenge, code: app.code() }, ip: at });
    expect((await complete(await firstStep(post, name, home), home)).status).toBe(200);
    await app.passTime();
    const challenge = await firstStep(post, name, home);
    const strange: string[] = [];
    for (let index = 0; index < 6; index++) strange.push(await firstStep(post, name, away));
    // The stranger still has at most five.
    expect((await complete(strange[0] ?? '', away)).body.code).toBe('auth.challenge_invalid');
    expect((await complete(challenge, home)).status).toBe(200);
  });

  it('asks for the factor that was enrolled while the password was verified (M9)', async () => {
    const { name, user_id } = await service.createUser();
    const client = new Client({ connectionString: service.config.DATABASE_URL });
    await client.connect();
    try {
      await client.query('begin');
      await client.query('select 1 from users where user_id = $1 for no key update', [user_id]);
      const login = post('/auth/login', { body: { login: name, password } });
      const waiting = `
        select 1
        from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%rejection%'`;
      await until(async () => (await service.rows(waiting)).length > 0);
      await Authenticator.enrol((text, values) => client.query(text, values), user_id);
      await client.query('commit');
      expect((await login).body.code).toBe('auth.second_factor_required');
    } finally {
      await client.end();
    }
    expect(await service.rows('select 1 from sessions where user_id = $1', [user_id])).toEqual([]);
  });

  it('rejects the session that an instance without second factors would open (M1)', async () => {
    const { user_id } = await service.createUser();
    const open = () =>
      service.rows(
        `
          insert into sessions (
            session_id, user_id, user_type, carrier_id, refresh_token_hash,
            refreshed_at, expires_at, absolute_expires_at
          )
          select uuid_v7(), user_id, user_type, carrier_id, '', now(), now(), now()
          from users
          where user_id = $1
          returning session_id`,
        [user_id],
      );
    expect(await open()).toHaveLength(1);
    await Authenticator.enrol(rows, user_id);
    await expect(open()).rejects.toThrow('the user has a second factor');
  });

  it('issues a challenge that no other endpoint accepts (M4)', async () => {
    const { name, user_id } = await service.createUser();
    await Authenticator.enrol(rows, user_id);
    const challenge = await firstStep(post, name);
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { 'x-permission': permission }]) => ({ method, path, permission })),
    );
    for (const { method, path, permission } of operations.filter((one) => one.permission !== 'none')) {
      const url = path.replace(/\{[^}]+\}/g, user_id);
      const { status, body } = await service.send(method.toUpperCase(), url, { token: challenge });
      expect([method, path, permission, status, body.code]).toEqual([
        ...[method, path, permission],
        ...[401, 'auth.token_invalid'],
      ]);
    }
    const others = [
      await post('/auth/check-token', { body: { token: challenge } }),
      await post('/auth/check-token', { body: { refresh_token: challenge } }),
      await post('/auth/logout', { body: { refresh_token: challenge } }),
      await service.get(`/auth/reset/${challenge}`),
      await post(`/auth/reset/${challenge}`, { body: { password: 'an entirely new phrase' } }),
      await service.get(`/auth/email/${challenge}`),
    ];
    expect(others.map(({ status }) => status)).toEqual([401, 401, 401, 404, 404, 404]);
  });
});
