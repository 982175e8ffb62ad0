import type { LoginAttemptsService } from '../../src/auth/passwords/login-attempts.service';
import { changesOf } from '../support/data/events';
import { password, type TestAnswer, TestService } from '../support/service';
import { inTransaction, lockWaits } from '../support/locks';
import { until } from '../support/until';

const wrong = `${password}!`;
const max = 3;

/** Logins whose steps wait for locks of other transactions. */
describe('logins beside other transactions', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ SESSIONS_PER_USER_MAX: String(max) });
  });
  afterAll(() => service.close());

  const live = (user_id: string) =>
    service.rows('select 1 from sessions where user_id = $1 and ended_at is null', [user_id]);

  async function logInMeanwhile(
    { name, user_id }: { name: string; user_id: string },
    count: number,
    change: string,
  ): Promise<TestAnswer[]> {
    return inTransaction(service, async (other) => {
      await other.query('select 1 from users where user_id = $1 for no key update', [user_id]);
      const answers = Promise.all(
        Array.from({ length: count }, () =>
          service.post('/auth/login', { body: { login: name, password }, ip: '192.0.2.7' }),
        ),
      );
      await lockWaits(service, count);
      await other.query(`update users set ${change} where user_id = $1`, [user_id]);
      await other.query('commit');
      return answers;
    });
  }

  it('keeps the session limit in concurrent logins, with one event per ended session (S13)', async () => {
    const user = await service.createUser();
    const earlier = [];
    while (earlier.length < max) earlier.push(await service.login(user.name));
    const answers = await logInMeanwhile(user, 3, 'first_name = first_name');
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await live(user.user_id)).toHaveLength(max);
    for (const { session_id } of earlier)
      expect(await endsOf(session_id)).toEqual([{ ended_reason: 'replaced', events: 1 }]);
    expect(await changesOf(service, 'login.succeeded', user.user_id)).toHaveLength(max + 3);
  });

  it.each([
    ['is disabled', `status = 'disabled', version = version + 1`, 'auth.invalid_credentials', 1],
    ['is deleted', 'deleted_at = now(), version = version + 1', 'auth.invalid_credentials', 1],
    ['gets another password', 'password_changed_at = now()', 'auth.invalid_credentials', 1],
    [
      'may log in from elsewhere only',
      `allowed_ips = '{198.51.100.0/24}', version = version + 1`,
      'auth.ip_not_allowed',
      0,
    ],
  ])(
    'rejects the login of a user who %s, and keeps nothing of it (CVE-2026-1609)',
    async (_, change, code, failures) => {
      const user = await service.createUser();
      const [answer] = await logInMeanwhile(user, 1, change);
      expect(answer?.body.code).toBe(code);
      const events = `select event_type from events where target_id = $1 and event_type like 'login.%'`;
      expect(await service.rows(events, [user.user_id])).toEqual([{ event_type: 'login.failed' }]);
      expect(await live(user.user_id)).toEqual([]);
      const left = `
      select last_login_at, failures, pending
      from user_logins, login_attempts
      where user_id = $1::uuid and account = $1::text`;
      expect(await service.rows(left, [user.user_id])).toEqual([{ last_login_at: null, failures, pending: {} }]);
    },
  );

  it('accepts a login beside any other change, which the response shows', async () => {
    const user = await service.createUser();
    const [answer] = await logInMeanwhile(user, 1, `first_name = 'Renamed', version = version + 1`);
    expect([answer?.status, answer?.body.user.first_name, answer?.body.user.version]).toEqual([200, 'Renamed', 2]);
    expect(await live(user.user_id)).toHaveLength(1);
  });

  /**
   * Locks something other than the user, so that the login holds the user and waits for the rest.
   */
  async function logInBeside(name: string, touch: string, value: string, then: string[] = []): Promise<TestAnswer> {
    return inTransaction(service, async (other) => {
      await other.query(touch, [value]);
      const answer = service.post('/auth/login', { body: { login: name, password }, ip: '192.0.2.7' });
      await lockWaits(service);
      for (const statement of then) await other.query(statement, [value]);
      await other.query('commit');
      return answer;
    });
  }

  /** Returns a user with the maximum number of sessions. */
  async function busyUser() {
    const { name, user_id } = await service.createUser();
    const oldest = await service.login(name);
    for (let i = 1; i < max; i++) await service.login(name);
    return { name, user_id, oldest };
  }
  const endsOf = async (session_id: string) => {
    const reason = 'select ended_reason from sessions where session_id = $1';
    const [session] = await service.rows<{ ended_reason: string | null }>(reason, [session_id]);
    return [{ ...session, events: (await changesOf(service, 'session.ended', session_id)).length }];
  };

  it.each([
    ['once when another request ends it meanwhile', `ended_at = now(), ended_reason = 'logout'`, 'logout', 0],
    ['although it is refreshed meanwhile', 'last_seen_at = now(), refreshed_at = now()', 'replaced', 1],
  ])('ends a session above the limit %s (S13)', async (_title, change, ended_reason, events) => {
    const { name, user_id, oldest } = await busyUser();
    const touch = `update sessions set ${change} where session_id = $1`;
    expect((await logInBeside(name, touch, oldest.session_id)).status).toBe(200);
    expect(await endsOf(oldest.session_id)).toEqual([{ ended_reason, events }]);
    expect(await live(user_id)).toHaveLength(max);
  });

  it('removes the expiry of an initial password that another transaction writes meanwhile', async () => {
    const { name, user_id } = await service.createUser({ must_change_password: true });
    const expiry = async () =>
      (await service.rows('select expires_at from credentials where user_id = $1', [user_id]))[0]?.['expires_at'];
    expect(await expiry()).toEqual(expect.any(Date));
    const touch = `update credentials set password_hash = password_hash where user_id = $1`;
    const { status, body } = await logInBeside(name, touch, user_id);
    expect([status, body.user.must_change_password]).toEqual([200, true]);
    expect(await expiry()).toBeNull();
  });

  it('logs in once despite a deadlock with a transaction that locks sessions before users (F26)', async () => {
    const touch = 'select 1 from sessions where session_id = $1 for update';
    const then = [
      'select 1 from users where user_id = (select user_id from sessions where session_id = $1) for update',
    ];
    /** Returns null if the server ended the other transaction, not that of the login. */
    const victimOfDeadlock = async () => {
      const { name, user_id, oldest } = await busyUser();
      const answer = await logInBeside(name, touch, oldest.session_id, then).catch((error: { code?: string }) => {
        if (error.code === '40P01') return null;
        throw error;
      });
      return answer && { user_id, oldest, answer };
    };
    // The one that has waited for a second is ended: on a busy machine, perhaps the other one.
    let victim = await victimOfDeadlock();
    for (let tries = 1; victim === null && tries < 10; tries++) victim = await victimOfDeadlock();
    const { user_id, oldest, answer } = victim!;
    expect(answer.status).toBe(200);
    expect(await live(user_id)).toHaveLength(max);
    expect(await endsOf(oldest.session_id)).toEqual([{ ended_reason: 'replaced', events: 1 }]);
    expect(await changesOf(service, 'login.succeeded', user_id)).toHaveLength(max + 1);
    const left = 'select failures, pending from login_attempts where account = $1';
    expect(new Set((await service.rows(left, [user_id])).map((row) => JSON.stringify(row)))).toEqual(
      new Set(['{"failures":0,"pending":{}}']),
    );
  });

  it.each([['login.succeeded'], ['session.ended']])(
    'keeps nothing of a login whose %s cannot be recorded (B14)',
    async (event_type) => {
      const { name, user_id, oldest } = await busyUser();
      const before = await service.rows('select last_login_at from user_logins where user_id = $1', [user_id]);
      await service.rows(`alter table events add constraint refused check (event_type <> '${event_type}') not valid`);
      const answer = await service.post('/auth/login', { body: { login: name, password } });
      await service.rows('alter table events drop constraint refused');
      expect(answer.status).toBe(500);
      expect(await live(user_id)).toHaveLength(max);
      expect(await endsOf(oldest.session_id)).toEqual([{ ended_reason: null, events: 0 }]);
      expect(await service.rows('select last_login_at from user_logins where user_id = $1', [user_id])).toEqual(before);
      expect(
        await service.rows(`select 1 from login_attempts where account = $1 and (pending <> '{}' or failures > 0)`, [
          user_id,
        ]),
      ).toEqual([]);
    },
  );

  it('keeps the limit beside revocations, and records each start and end once (S13)', async () => {
    const { user_id, name } = await service.createUser();
    const { token } = service.admin;
    const [opened] = await Promise.all([
      Promise.all(Array.from({ length: 8 }, () => service.login(name))),
      service.delete(`/auth/session/all?user_id=${user_id}`, { token }),
      service.patch(`/user/${user_id}`, { token, body: { first_name: 'Busy' } }),
      service.delete(`/auth/session/all?user_id=${user_id}`, { token }),
    ]);
    expect((await live(user_id)).length).toBeLessThanOrEqual(max);
    const begun = await service.rows<{ session_id: string }>(
      `select session_id from events where event_type = 'login.succeeded' and target_id = $1`,
      [user_id],
    );
    expect(begun.map(({ session_id }) => session_id).sort()).toEqual(opened.map(({ session_id }) => session_id).sort());
    for (const { session_id } of opened) {
      const [session] = await endsOf(session_id);
      expect(session?.events).toBe(session?.ended_reason === null ? 0 : 1);
    }
  });

  const attempt = (login: string, secret = password) =>
    service.post('/auth/login', { body: { login, password: secret } });
  const counter = async (user_id: string) =>
    (await service.rows('select failures, locked_until, pending from login_attempts where account = $1', [user_id]))[0];
  const attempts = () => service.inside<LoginAttemptsService>('LoginAttemptsService');
  const open = async (user_id: string) => {
    const begun = await attempts().begin({ account: user_id, user_id, address: '' });
    if (begun === null) throw new Error('no place is free');
    return begun;
  };
  /** Ages the open attempts beyond their lease. */
  const age = (user_id: string) =>
    service.rows(
      `
        update login_attempts
        set pending = (select jsonb_object_agg(key, value::float8 - 16) from jsonb_each_text(pending))
        where account = $1 and pending <> '{}'`,
      [user_id],
    );

  it('counts no right password while the database can neither complete nor close the attempt (L23)', async () => {
    const { name, user_id } = await service.createUser();
    const statuses = await inTransaction(service, async (other) => {
      await other.query('select 1 from users where user_id = $1 for update', [user_id]);
      const logins = Array.from({ length: 4 }, () => attempt(name));
      // The logins are counted and verified, and wait for the lock of the user.
      await lockWaits(service, 4);
      await other.query('lock table login_attempts in access exclusive mode');
      return (await Promise.all(logins)).map(({ status }) => status);
    });
    expect(statuses).toEqual([503, 503, 503, 503]);
    await until(async () => JSON.stringify((await counter(user_id))?.['pending']) === '{}');
    await age(user_id);
    expect(await counter(user_id)).toMatchObject({ failures: 0, locked_until: null });
    expect((await attempt(name)).status).toBe(200);
  });

  it('removes the failures and the lock of attempts that are closed after their lease (L23)', async () => {
    const { user_id } = await service.createUser();
    const late = [];
    for (let round = 0; round < 5; round++) late.push(await open(user_id));
    await age(user_id);
    await expect(open(user_id)).rejects.toThrow();
    expect(await counter(user_id)).toMatchObject({ failures: 5 });
    for (const each of late) await attempts().release(each);
    expect(await counter(user_id)).toMatchObject({ failures: 0, locked_until: null, pending: {} });
    await attempts().release(await open(user_id));
    expect(await counter(user_id)).toMatchObject({ failures: 0, locked_until: null, pending: {} });
  });

  it('removes the permanent lock of a late attempt, and keeps the lock of earlier failures (L23)', async () => {
    const { user_id } = await service.createUser();
    const late = await open(user_id);
    await service.rows('update login_attempts set failures = 99 where account = $1', [user_id]);
    await age(user_id);
    await expect(open(user_id)).rejects.toThrow();
    await attempts().release(late);
    const [row] = await service.rows<{ failures: number; minutes: number }>(
      `select failures, extract(epoch from locked_until - now())::float8 / 60 as minutes
      from login_attempts where account = $1`,
      [user_id],
    );
    expect(row?.failures).toBe(99);
    expect(row?.minutes).toBeGreaterThan(0);
    expect(row?.minutes).toBeLessThan(61);
  });

  it('counts every wrong password, even if the database fails after the verification (L18, L23)', async () => {
    const { name, user_id } = await service.createUser();
    await inTransaction(service, async (other) => {
      await other.query('select 1 from users where user_id = $1 for update', [user_id]);
      const answers = await Promise.all(Array.from({ length: 4 }, () => attempt(name, wrong)));
      expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    });
    await age(user_id);
    expect((await attempt(name, wrong)).status).toBe(401);
    expect((await attempt(name)).status).toBe(429);
  });

  it('counts no password that the service could not verify, of a missing user either (L17, L19, L23)', async () => {
    const { token, user_id } = await service.loginAs();
    const change = { current_password: password, new_password: 'a quite different phrase' };
    await inTransaction(service, async (other) => {
      await other.query('lock table credentials in access exclusive mode');
      const answers = await Promise.all([
        service.post('/auth/reauthenticate', { token, body: { password } }),
        service.post('/auth/password', { token, body: change }),
        service.post('/auth/email', { token, body: { current_password: password, email: 'new@example.com' } }),
        // Reads the same tables as a login of an existing user.
        attempt('no-user-with-this-name'),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
    });
    expect(await counter(user_id)).toMatchObject({ failures: 0, pending: {} });
  });

  it('rejects locked logins without reading a user, for existing and missing users alike (L22)', async () => {
    const { name, user_id } = await service.createUser();
    const logins = [name, 'no-such-user'];
    for (const login of logins) for (let failures = 0; failures < 5; failures++) await attempt(login, wrong);
    await inTransaction(service, async (other) => {
      await other.query('lock table credentials, user_logins, user_seen, second_factors in access exclusive mode');
      for (const login of logins) expect([login, (await attempt(login)).status]).toEqual([login, 429]);
    });
    expect(await counter(user_id)).toMatchObject({ failures: 5 });
  });
});
