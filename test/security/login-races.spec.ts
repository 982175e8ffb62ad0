import { until } from '../support/links';
import { password, type TestAnswer, TestService } from '../support/service';

jest.setTimeout(60_000);

const max = 3;

/** Logins whose password was right, and who have just been looked up: what is noted of them waits for another transaction on the same user. */
describe('a user who changes, or logs in elsewhere, while the password is hashed', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start({ SESSIONS_PER_USER_MAX: String(max) });
  });
  afterAll(() => service.close());

  const live = (user_id: string) => service.rows('select 1 from sessions where user_id = $1 and ended_at is null', [user_id]);

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
        Array.from({ length: count }, () => service.post('/auth/login', { body: { login: name, password }, ip: '192.0.2.7' })),
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

  it('S13 logins that could not see each other: no more than the limit live, and each of the others has its event', async () => {
    const user = await service.createUser();
    for (let i = 0; i < max; i++) await service.login(user.name);
    const answers = await logInMeanwhile(user, 3, 'first_name = first_name');
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await live(user.user_id)).toHaveLength(max);
    const events = `select 1 from events join sessions on target_id = sessions.session_id where event_type = 'session.ended' and user_id = $1`;
    expect(await service.rows(events, [user.user_id])).toHaveLength(3);
    const logins = `select distinct session_id from events where event_type = 'login.succeeded' and target_id = $1`;
    expect(await service.rows(logins, [user.user_id])).toHaveLength(max + 3);
  });

  it.each([
    ['is disabled', `status = 'disabled', version = version + 1`],
    ['is deleted', 'deleted_at = now(), version = version + 1'],
    ['gets another password', 'password_changed_at = now()'],
    ['may log in from elsewhere only', `allowed_ips = '{198.51.100.0/24}', version = version + 1`],
  ])('CVE-2026-1609 a user who %s is not logged in, and nothing of a login stays', async (_, change) => {
    const user = await service.createUser();
    const [answer] = await logInMeanwhile(user, 1, change);
    expect([answer?.status, answer?.body.code]).toEqual([401, 'auth.invalid_credentials']);
    expect(await live(user.user_id)).toEqual([]);
    expect(await service.rows(`select 1 from events where event_type = 'login.succeeded' and target_id = $1`, [user.user_id])).toEqual([]);
    const left =
      'select last_login_at, (select jsonb_agg(pending) from login_attempts where account = $1::text) as pending from users where user_id = $1::uuid';
    expect(await service.rows(left, [user.user_id])).toEqual([{ last_login_at: null, pending: [{}] }]);
  });

  it('any other change hinders nobody, and is in the answer', async () => {
    const user = await service.createUser();
    const [answer] = await logInMeanwhile(user, 1, `first_name = 'Renamed', version = version + 1`);
    expect([answer?.status, answer?.body.user.first_name, answer?.body.user.version]).toEqual([200, 'Renamed', 2]);
    expect(await live(user.user_id)).toHaveLength(1);
  });
});
