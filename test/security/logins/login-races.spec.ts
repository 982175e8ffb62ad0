import { until } from '../../support/until';
import { password, type TestAnswer, TestService } from '../../support/service';

jest.setTimeout(60_000);

const max = 3;

/**
 * Starts logins with the right password whose last step waits for another transaction on the user.
 */
describe('users who change or log in elsewhere while the password is hashed', () => {
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
    const other = await service.sql.connect();
    try {
      await other.query('begin');
      await other.query('select 1 from users where user_id = $1 for no key update', [user_id]);
      const answers = Promise.all(
        Array.from({ length: count }, () =>
          service.post('/auth/login', { body: { login: name, password }, ip: '192.0.2.7' }),
        ),
      );
      const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until(async () => (await service.rows(waiting)).length === count);
      await other.query(`update users set ${change} where user_id = $1`, [user_id]);
      await other.query('commit');
      return await answers;
    } finally {
      other.release();
    }
  }

  it('keeps the session limit in concurrent logins, with one event per ended session (S13)', async () => {
    const user = await service.createUser();
    for (let i = 0; i < max; i++) await service.login(user.name);
    const answers = await logInMeanwhile(user, 3, 'first_name = first_name');
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await live(user.user_id)).toHaveLength(max);
    const events = `
      select 1
      from events
      join sessions on target_id = sessions.session_id
      where event_type = 'session.ended' and user_id = $1`;
    expect(await service.rows(events, [user.user_id])).toHaveLength(3);
    const logins = `select distinct session_id from events where event_type = 'login.succeeded' and target_id = $1`;
    expect(await service.rows(logins, [user.user_id])).toHaveLength(max + 3);
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
      const failed = await service.rows(`select 1 from events where event_type = 'login.failed' and target_id = $1`, [
        user.user_id,
      ]);
      expect(failed).toHaveLength(1);
      expect(await service.rows('select failures from login_attempts where account = $1', [user.user_id])).toEqual([
        { failures },
      ]);
      expect(await live(user.user_id)).toEqual([]);
      expect(
        await service.rows(`select 1 from events where event_type = 'login.succeeded' and target_id = $1`, [
          user.user_id,
        ]),
      ).toEqual([]);
      const left = `
        select
          last_login_at, (select jsonb_agg(pending) from login_attempts where account = $1::text) as pending
        from user_logins
        where user_id = $1::uuid`;
      expect(await service.rows(left, [user.user_id])).toEqual([{ last_login_at: null, pending: [{}] }]);
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
    const other = await service.sql.connect();
    try {
      await other.query('begin');
      await other.query(touch, [value]);
      const answer = service.post('/auth/login', { body: { login: name, password }, ip: '192.0.2.7' });
      const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until(async () => (await service.rows(waiting)).length === 1);
      for (const statement of then) await other.query(statement, [value]);
      await other.query('commit');
      return await answer;
    } finally {
      other.release();
    }
  }

  const endsOf = (session_id: string) =>
    service.rows(
      `
        select
          ended_reason,
          (
            select count(*)::integer
            from events
            where event_type = 'session.ended' and target_id = sessions.session_id
          ) as events
        from sessions
        where session_id = $1`,
      [session_id],
    );

  it('ends a session above the limit once when another request ends it meanwhile (S13)', async () => {
    const { name, user_id } = await service.createUser();
    const oldest = await service.login(name);
    for (let i = 1; i < max; i++) await service.login(name);
    const touch = `update sessions set ended_at = now(), ended_reason = 'logout' where session_id = $1`;
    expect((await logInBeside(name, touch, oldest.session_id)).status).toBe(200);
    expect(await endsOf(oldest.session_id)).toEqual([{ ended_reason: 'logout', events: 0 }]);
    expect(await live(user_id)).toHaveLength(max);
  });

  it('ends a session above the limit although it is refreshed meanwhile (S13)', async () => {
    const { name, user_id } = await service.createUser();
    const oldest = await service.login(name);
    for (let i = 1; i < max; i++) await service.login(name);
    const touch = `update sessions set last_seen_at = now(), refreshed_at = now() where session_id = $1`;
    expect((await logInBeside(name, touch, oldest.session_id)).status).toBe(200);
    expect(await endsOf(oldest.session_id)).toEqual([{ ended_reason: 'replaced', events: 1 }]);
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
    const { name, user_id } = await service.createUser();
    const oldest = await service.login(name);
    for (let i = 1; i < max; i++) await service.login(name);
    const touch = 'select 1 from sessions where session_id = $1 for update';
    const then = [
      'select 1 from users where user_id = (select user_id from sessions where session_id = $1) for update',
    ];
    expect((await logInBeside(name, touch, oldest.session_id, then)).status).toBe(200);
    expect(await live(user_id)).toHaveLength(max);
    expect(await endsOf(oldest.session_id)).toEqual([{ ended_reason: 'replaced', events: 1 }]);
    const logins = `select 1 from events where event_type = 'login.succeeded' and target_id = $1`;
    expect(await service.rows(logins, [user_id])).toHaveLength(max + 1);
    const left = 'select failures, pending from login_attempts where account = $1';
    expect(new Set((await service.rows(left, [user_id])).map((row) => JSON.stringify(row)))).toEqual(
      new Set(['{"failures":0,"pending":{}}']),
    );
  });

  it.each([['login.succeeded'], ['session.ended']])(
    'keeps nothing of a login whose %s cannot be recorded (B14)',
    async (event_type) => {
      const { name, user_id } = await service.createUser();
      const oldest = await service.login(name);
      for (let i = 1; i < max; i++) await service.login(name);
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
});
